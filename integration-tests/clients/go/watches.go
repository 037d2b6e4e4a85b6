package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	watchtools "k8s.io/client-go/tools/watch"
)

// recorder is an event handler that tells what it was told.
func recorder(seen chan<- string) cache.ResourceEventHandlerFuncs {
	name := func(object any) string {
		key, _ := cache.DeletionHandlingMetaNamespaceKeyFunc(object)
		return key[strings.Index(key, "/")+1:]
	}
	return cache.ResourceEventHandlerFuncs{
		AddFunc:    func(object any) { seen <- "add " + name(object) },
		UpdateFunc: func(_, object any) { seen <- "update " + name(object) },
		DeleteFunc: func(object any) { seen <- "delete " + name(object) },
	}
}

func expect(ctx context.Context, seen <-chan string, wanted ...string) error {
	for _, one := range wanted {
		found, err := within(ctx, one, seen)
		if err != nil {
			return err
		}
		if found != one {
			return fmt.Errorf("seen %q instead of %q", found, one)
		}
	}
	return nil
}

func proveInformer(ctx context.Context, c *cluster) (string, error) {
	client := c.typed.CoreV1().ConfigMaps(c.namespace)
	watched := map[string]string{"watched": "yes"}
	if _, err := client.Create(ctx, configMap("before", watched, nil), metav1.CreateOptions{}); err != nil {
		return "", err
	}
	factory := informers.NewSharedInformerFactoryWithOptions(c.typed, 0, informers.WithNamespace(c.namespace),
		informers.WithTweakListOptions(func(options *metav1.ListOptions) { options.LabelSelector = "watched=yes" }))
	informer := factory.Core().V1().ConfigMaps()
	seen := make(chan string, 100)
	if _, err := informer.Informer().AddEventHandler(recorder(seen)); err != nil {
		return "", err
	}
	factory.StartWithContext(ctx)
	if !cache.WaitForCacheSync(ctx.Done(), informer.Informer().HasSynced) {
		return "", errors.New("the informer does not sync")
	}
	if err := expect(ctx, seen, "add before"); err != nil {
		return "", err
	}
	_, first := client.Create(ctx, configMap("after", watched, nil), metav1.CreateOptions{})
	_, second := client.Patch(ctx, "before", types.MergePatchType, []byte(`{"data":{"a":"1"}}`), metav1.PatchOptions{})
	_, third := client.Patch(ctx, "after", types.MergePatchType, []byte(`{"metadata":{"labels":null}}`), metav1.PatchOptions{})
	fourth := client.Delete(ctx, "before", metav1.DeleteOptions{})
	if err := errors.Join(first, second, third, fourth); err != nil {
		return "", err
	}
	// What leaves the selection is deleted, for who watches the selection.
	if err := expect(ctx, seen, "add after", "update before", "delete after", "delete before"); err != nil {
		return "", err
	}
	left, err := informer.Lister().List(labels.Everything())
	return fmt.Sprintf("%d left", len(left)), err
}

func proveWatchResume(ctx context.Context, c *cluster) (string, error) {
	client := c.typed.CoreV1().ConfigMaps(c.namespace)
	selector := metav1.ListOptions{LabelSelector: "resumed=yes"}
	resumed := map[string]string{"resumed": "yes"}
	list, err := client.List(ctx, selector)
	if err != nil {
		return "", err
	}
	connections := 0
	short := int64(1)
	resuming, err := watchtools.NewRetryWatcherWithContext(ctx, list.ResourceVersion, &cache.ListWatch{
		WatchFuncWithContext: func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
			connections++
			options.LabelSelector = selector.LabelSelector
			options.TimeoutSeconds = &short
			return client.Watch(ctx, options)
		},
	})
	if err != nil {
		return "", err
	}
	defer resuming.Stop()
	const writes = 12
	go func() {
		for i := range writes {
			_, _ = client.Create(ctx, configMap(fmt.Sprintf("resumed-%02d", i), resumed, nil), metav1.CreateOptions{})
			time.Sleep(250 * time.Millisecond)
		}
	}()
	for i := range writes {
		event, err := within(ctx, fmt.Sprintf("write %d", i), resuming.ResultChan())
		if err != nil {
			return "", err
		}
		object, ok := event.Object.(*corev1.ConfigMap)
		if !ok || event.Type != watch.Added || object.Name != fmt.Sprintf("resumed-%02d", i) {
			return "", fmt.Errorf("event %d is %s %v", i, event.Type, event.Object)
		}
	}
	// With the objects that were there, then a bookmark, then what follows.
	yes := true
	streaming, err := client.Watch(ctx, metav1.ListOptions{
		LabelSelector: selector.LabelSelector, SendInitialEvents: &yes, AllowWatchBookmarks: true,
		ResourceVersionMatch: metav1.ResourceVersionMatchNotOlderThan,
	})
	if err != nil {
		return "", err
	}
	defer streaming.Stop()
	for i := range writes {
		if event, err := within(ctx, "an initial event", streaming.ResultChan()); err != nil || event.Type != watch.Added {
			return "", fmt.Errorf("initial event %d: %s %v", i, event.Type, err)
		}
	}
	bookmark, err := within(ctx, "the bookmark", streaming.ResultChan())
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("%d events", writes), errors.Join(
		check(connections > 2, "only %d connections", connections),
		check(bookmark.Type == watch.Bookmark, "%s in place of the bookmark", bookmark.Type),
	)
}

func proveCustomResources(ctx context.Context, c *cluster) (string, error) {
	group := c.namespace + ".go.example.com"
	definitions := c.dynamic.Resource(schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"})
	name := "widgets." + group
	text := map[string]any{"type": "string"}
	definition := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": map[string]any{"name": name},
		"spec": map[string]any{
			"group": group, "scope": "Namespaced", "names": map[string]any{"plural": "widgets", "kind": "Widget"},
			"versions": []any{map[string]any{
				"name": "v1", "served": true, "storage": true, "subresources": map[string]any{"status": map[string]any{}},
				"schema": map[string]any{"openAPIV3Schema": map[string]any{"type": "object", "properties": map[string]any{
					"spec": map[string]any{"type": "object", "properties": map[string]any{
						"size": map[string]any{"type": "integer", "minimum": int64(1), "default": int64(3)}, "name": text}},
					"status": map[string]any{"type": "object", "properties": map[string]any{"phase": text}},
				}}},
			}},
		},
	}}
	if _, err := definitions.Create(ctx, definition, metav1.CreateOptions{}); err != nil {
		return "", err
	}
	defer definitions.Delete(context.WithoutCancel(ctx), name, metav1.DeleteOptions{})
	kind := schema.GroupKind{Group: group, Kind: "Widget"}
	var resource schema.GroupVersionResource
	if err := wait.PollUntilContextTimeout(ctx, 100*time.Millisecond, 60*time.Second, true, func(context.Context) (bool, error) {
		c.mapper.Reset()
		mapping, err := c.mapper.RESTMapping(kind)
		if err == nil {
			resource = mapping.Resource
		}
		return err == nil, nil
	}); err != nil {
		return "", fmt.Errorf("the kind is never discovered: %w", err)
	}
	client := c.dynamic.Resource(resource).Namespace(c.namespace)
	seen := make(chan string, 100)
	factory := dynamicinformer.NewFilteredDynamicSharedInformerFactory(c.dynamic, 0, c.namespace, nil)
	informer := factory.ForResource(resource).Informer()
	if _, err := informer.AddEventHandler(recorder(seen)); err != nil {
		return "", err
	}
	factory.Start(ctx.Done())
	if !cache.WaitForCacheSync(ctx.Done(), informer.HasSynced) {
		return "", errors.New("the informer does not sync")
	}
	widget := func(spec map[string]any) *unstructured.Unstructured {
		return &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": group + "/v1", "kind": "Widget", "metadata": map[string]any{"name": "w"}, "spec": spec,
		}}
	}
	made, err := client.Create(ctx, widget(map[string]any{"pruned": "yes"}), metav1.CreateOptions{})
	if err != nil {
		return "", err
	}
	_, invalid := client.Apply(ctx, "w", widget(map[string]any{"size": int64(0)}), metav1.ApplyOptions{FieldManager: "prover"})
	applied, err := client.Apply(ctx, "w", widget(map[string]any{"size": int64(5)}), metav1.ApplyOptions{FieldManager: "prover", Force: true})
	if err != nil {
		return "", err
	}
	unstructured.SetNestedField(applied.Object, "Done", "status", "phase")
	updated, err := client.UpdateStatus(ctx, applied, metav1.UpdateOptions{})
	if err != nil {
		return "", err
	}
	size, _, _ := unstructured.NestedInt64(updated.Object, "spec", "size")
	phase, _, _ := unstructured.NestedString(updated.Object, "status", "phase")
	fresh, _, _ := unstructured.NestedMap(made.Object, "spec")
	if err := client.Delete(ctx, "w", metav1.DeleteOptions{}); err != nil {
		return "", err
	}
	return fmt.Sprintf("%v %d %s", fresh, size, phase), errors.Join(
		check(invalid != nil, "a size of 0 is taken"),
		expect(ctx, seen, "add w", "update w", "update w", "delete w"),
	)
}

func proveLeaderElection(ctx context.Context, c *cluster) (string, error) {
	leads := make(chan string, 10)
	start := func(identity string) (context.CancelFunc, <-chan struct{}, error) {
		lock, err := resourcelock.New(resourcelock.LeasesResourceLock, c.namespace, "leader", c.plain.CoreV1(), c.plain.CoordinationV1(),
			resourcelock.ResourceLockConfig{Identity: identity})
		if err != nil {
			return nil, nil, err
		}
		own, cancel := context.WithCancel(ctx)
		elector, err := leaderelection.NewLeaderElector(leaderelection.LeaderElectionConfig{
			Lock: lock, LeaseDuration: 30 * time.Second, RenewDeadline: 20 * time.Second, RetryPeriod: 300 * time.Millisecond, ReleaseOnCancel: true,
			Callbacks: leaderelection.LeaderCallbacks{
				OnStartedLeading: func(context.Context) { leads <- identity + " leads" },
				OnStoppedLeading: func() { leads <- identity + " stops" },
			},
		})
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			elector.Run(own)
		}()
		return cancel, ended, err
	}
	stopOne, oneEnded, err := start("one")
	if err != nil {
		return "", err
	}
	defer stopOne()
	if err := expect(ctx, leads, "one leads"); err != nil {
		return "", err
	}
	stopTwo, twoEnded, err := start("two")
	if err != nil {
		return "", err
	}
	stopOne()
	<-oneEnded
	if err := expect(ctx, leads, "one stops", "two leads"); err != nil {
		return "", err
	}
	lease, err := c.typed.CoordinationV1().Leases(c.namespace).Get(ctx, "leader", metav1.GetOptions{})
	if err != nil {
		return "", err
	}
	holder, transitions := *lease.Spec.HolderIdentity, *lease.Spec.LeaseTransitions
	stopTwo()
	<-twoEnded
	return fmt.Sprintf("%s after %d transitions", holder, transitions), nil
}
