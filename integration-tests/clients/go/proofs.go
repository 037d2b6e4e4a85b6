package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	applycorev1 "k8s.io/client-go/applyconfigurations/core/v1"
	"k8s.io/client-go/tools/pager"
	"k8s.io/client-go/util/retry"
)

var proofs = []proof{
	{"discovery", proveDiscovery},
	{"rest-mapper", proveMapper},
	{"protobuf", proveProtobuf},
	{"patches", provePatches},
	{"apply", proveApply},
	{"conflict-retry", proveRetry},
	{"pagination", provePagination},
	{"dynamic", proveDynamic},
	{"custom-resources", proveCustomResources},
	{"metadata-only", proveMetadataOnly},
	{"table", proveTable},
	{"informer", proveInformer},
	{"watch-resume", proveWatchResume},
	{"leader-election", proveLeaderElection},
}

var configMaps = schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}

func check(ok bool, format string, args ...any) error {
	if ok {
		return nil
	}
	return fmt.Errorf(format, args...)
}

func configMap(name string, labels, data map[string]string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels}, Data: data}
}

func proveDiscovery(_ context.Context, c *cluster) (string, error) {
	version, err := c.discovery.ServerVersion()
	if err != nil {
		return "", err
	}
	groups, lists, err := c.discovery.ServerGroupsAndResources()
	if err != nil {
		return "", err
	}
	kinds := 0
	for _, list := range lists {
		kinds += len(list.APIResources)
	}
	if err := errors.Join(
		check(len(groups) > 15, "only %d groups", len(groups)),
		check(kinds > 100, "only %d resources", kinds),
		check(version.Major == "1", "version %s", version.Major),
	); err != nil {
		return "", err
	}
	document, err := c.discovery.OpenAPISchema()
	if err != nil {
		return "", err
	}
	paths, err := c.discovery.OpenAPIV3().Paths()
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("version %s.%s", version.Major, version.Minor), errors.Join(
		check(len(document.Definitions.AdditionalProperties) > 300, "only %d definitions", len(document.Definitions.AdditionalProperties)),
		check(len(paths) > 15, "only %d documents", len(paths)),
	)
}

func proveMapper(_ context.Context, c *cluster) (string, error) {
	mapping, err := c.mapper.RESTMapping(schema.GroupKind{Group: "apps", Kind: "Deployment"})
	if err != nil {
		return "", err
	}
	kind, err := c.mapper.KindFor(schema.GroupVersionResource{Resource: "horizontalpodautoscalers"})
	if err != nil {
		return "", err
	}
	_, unknown := c.mapper.RESTMapping(schema.GroupKind{Group: "example.com", Kind: "Nothing"})
	return mapping.Resource.String() + "; " + kind.String(), errors.Join(
		check(mapping.Scope.Name() == "namespace", "scope %s", mapping.Scope.Name()),
		check(unknown != nil, "an unknown kind is mapped"),
	)
}

func proveProtobuf(ctx context.Context, c *cluster) (string, error) {
	pods := c.typed.CoreV1().Pods(c.namespace)
	pod, err := pods.Create(ctx, &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "binary"},
		Spec: corev1.PodSpec{
			SchedulerName: "nobody",
			Containers:    []corev1.Container{{Name: "c", Image: "nginx:1.7.9", Env: []corev1.EnvVar{{Name: "A", Value: "1"}}}},
		},
	}, metav1.CreateOptions{})
	if err != nil {
		return "", err
	}
	read, err := c.plain.CoreV1().Pods(c.namespace).Get(ctx, "binary", metav1.GetOptions{})
	if err != nil {
		return "", err
	}
	one, _ := json.Marshal(pod)
	other, _ := json.Marshal(read)
	raw, err := c.typed.CoreV1().RESTClient().Get().Namespace(c.namespace).Resource("pods").Name("binary").Do(ctx).Raw()
	if err != nil {
		return "", err
	}
	_, bad := pods.Create(ctx, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "bad"}}, metav1.CreateOptions{})
	zero := int64(0)
	gone := pods.Delete(ctx, "binary", metav1.DeleteOptions{GracePeriodSeconds: &zero})
	return fmt.Sprintf("%q %s", raw[:3], pod.Spec.RestartPolicy), errors.Join(
		gone,
		check(string(one) == string(other), "protobuf %s, JSON %s", one, other),
		check(apierrors.IsInvalid(bad), "a pod without containers: %v", bad),
	)
}

func provePatches(ctx context.Context, c *cluster) (string, error) {
	client := c.typed.CoreV1().ConfigMaps(c.namespace)
	if _, err := client.Create(ctx, configMap("patched", nil, map[string]string{"a": "1"}), metav1.CreateOptions{}); err != nil {
		return "", err
	}
	patches := []struct {
		kind types.PatchType
		text string
	}{
		{types.MergePatchType, `{"data":{"a":null,"b":"2"}}`},
		{types.JSONPatchType, `[{"op":"test","path":"/data/b","value":"2"},{"op":"add","path":"/data/c","value":"3"}]`},
		{types.StrategicMergePatchType, `{"metadata":{"labels":{"d":"4"}},"data":{"$retainKeys":["c"],"c":"5"}}`},
		{types.ApplyPatchType, `{"apiVersion":"v1","kind":"ConfigMap","data":{"e":"6"}}`},
	}
	var last *corev1.ConfigMap
	for _, patch := range patches {
		options := metav1.PatchOptions{FieldManager: "prover"}
		var err error
		if last, err = client.Patch(ctx, "patched", patch.kind, []byte(patch.text), options); err != nil {
			return "", fmt.Errorf("%s: %w", patch.kind, err)
		}
	}
	_, refused := client.Patch(ctx, "patched", types.JSONPatchType, []byte(`[{"op":"test","path":"/data/c","value":"x"}]`), metav1.PatchOptions{})
	data, err := json.Marshal(last.Data)
	return string(data), errors.Join(err, check(apierrors.IsInvalid(refused), "a test that fails: %v", refused))
}

func proveApply(ctx context.Context, c *cluster) (string, error) {
	client := c.typed.CoreV1().ConfigMaps(c.namespace)
	wanted := func(value string) *applycorev1.ConfigMapApplyConfiguration {
		return applycorev1.ConfigMap("applied", c.namespace).WithData(map[string]string{"a": value})
	}
	if _, err := client.Apply(ctx, wanted("1"), metav1.ApplyOptions{FieldManager: "one"}); err != nil {
		return "", err
	}
	_, conflict := client.Apply(ctx, wanted("2"), metav1.ApplyOptions{FieldManager: "two"})
	var status apierrors.APIStatus
	if !apierrors.IsConflict(conflict) || !errors.As(conflict, &status) {
		return "", fmt.Errorf("no conflict: %v", conflict)
	}
	cause := status.Status().Details.Causes[0]
	forced, err := client.Apply(ctx, wanted("2"), metav1.ApplyOptions{FieldManager: "two", Force: true})
	if err != nil {
		return "", err
	}
	extracted, err := applycorev1.ExtractConfigMap(forced, "two")
	if err != nil {
		return "", err
	}
	nothing, err := applycorev1.ExtractConfigMap(forced, "one")
	return fmt.Sprintf("%s: %s %s", cause.Type, cause.Message, cause.Field), errors.Join(
		err,
		check(extracted.Data["a"] == "2", "two owns %v", extracted.Data),
		check(len(nothing.Data) == 0, "one owns %v", nothing.Data),
	)
}

// The usual number of tries is for fewer writers than there are here.
var patient = wait.Backoff{Steps: 30, Duration: 5 * time.Millisecond, Factor: 1.2, Jitter: 1}

func proveRetry(ctx context.Context, c *cluster) (string, error) {
	client := c.typed.CoreV1().ConfigMaps(c.namespace)
	stale, err := client.Create(ctx, configMap("counted", nil, map[string]string{"n": ""}), metav1.CreateOptions{})
	if err != nil {
		return "", err
	}
	const writers = 5
	results := make(chan error, writers)
	for range writers {
		go func() {
			results <- retry.RetryOnConflict(patient, func() error {
				current, err := client.Get(ctx, "counted", metav1.GetOptions{})
				if err != nil {
					return err
				}
				current.Data["n"] += "I"
				_, err = client.Update(ctx, current, metav1.UpdateOptions{})
				return err
			})
		}()
	}
	for range writers {
		err = errors.Join(err, <-results)
	}
	_, conflict := client.Update(ctx, stale, metav1.UpdateOptions{})
	last, get := client.Get(ctx, "counted", metav1.GetOptions{})
	return last.Data["n"], errors.Join(err, get,
		check(len(last.Data["n"]) == writers, "%d writes are left", len(last.Data["n"])),
		check(apierrors.IsConflict(conflict), "no conflict: %v", conflict))
}

func provePagination(ctx context.Context, c *cluster) (string, error) {
	client := c.typed.CoreV1().ConfigMaps(c.namespace)
	const total, page = 25, 7
	for i := range total {
		if _, err := client.Create(ctx, configMap(fmt.Sprintf("page-%02d", i), map[string]string{"paged": "yes"}, nil), metav1.CreateOptions{}); err != nil {
			return "", err
		}
	}
	first, err := client.List(ctx, metav1.ListOptions{LabelSelector: "paged=yes", Limit: page})
	if err != nil {
		return "", err
	}
	pages := 0
	lists := pager.New(func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
		pages++
		return client.List(ctx, options)
	})
	lists.PageSize = page
	var names []string
	err = lists.EachListItem(ctx, metav1.ListOptions{LabelSelector: "paged=yes"}, func(object runtime.Object) error {
		names = append(names, object.(*corev1.ConfigMap).Name)
		return nil
	})
	again := client.DeleteCollection(ctx, metav1.DeleteOptions{}, metav1.ListOptions{LabelSelector: "paged=yes"})
	return fmt.Sprintf("%d in %d pages", len(names), pages), errors.Join(
		err, again,
		check(len(first.Items) == page && first.Continue != "", "%d on the first page", len(first.Items)),
		check(len(names) == total && names[0] == "page-00" && names[total-1] == "page-24", "names %s", strings.Join(names, " ")),
	)
}

func proveDynamic(ctx context.Context, c *cluster) (string, error) {
	client := c.dynamic.Resource(configMaps).Namespace(c.namespace)
	object := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"generateName": "loose-"}, "data": map[string]any{"a": "1"},
	}}
	made, err := client.Create(ctx, object, metav1.CreateOptions{})
	if err != nil {
		return "", err
	}
	name := made.GetName()
	if err := unstructured.SetNestedField(made.Object, "2", "data", "a"); err != nil {
		return "", err
	}
	if _, err := client.Update(ctx, made, metav1.UpdateOptions{}); err != nil {
		return "", err
	}
	list, err := client.List(ctx, metav1.ListOptions{FieldSelector: "metadata.name=" + name})
	if err != nil {
		return "", err
	}
	value, _, _ := unstructured.NestedString(list.Items[0].Object, "data", "a")
	_, absent := client.Get(ctx, "nothing", metav1.GetOptions{})
	return value, errors.Join(
		client.Delete(ctx, name, metav1.DeleteOptions{}),
		check(len(list.Items) == 1, "%d items", len(list.Items)),
		check(apierrors.IsNotFound(absent), "what is absent: %v", absent),
	)
}

func proveMetadataOnly(ctx context.Context, c *cluster) (string, error) {
	if _, err := c.typed.CoreV1().ConfigMaps(c.namespace).Create(ctx, configMap("meta", map[string]string{"only": "meta"}, map[string]string{"a": "1"}), metav1.CreateOptions{}); err != nil {
		return "", err
	}
	client := c.metadata.Resource(configMaps).Namespace(c.namespace)
	list, err := client.List(ctx, metav1.ListOptions{LabelSelector: "only=meta"})
	if err != nil {
		return "", err
	}
	watching, err := client.Watch(ctx, metav1.ListOptions{LabelSelector: "only=meta", ResourceVersion: list.ResourceVersion})
	if err != nil {
		return "", err
	}
	defer watching.Stop()
	patched, err := client.Patch(ctx, "meta", types.MergePatchType, []byte(`{"metadata":{"annotations":{"seen":"yes"}}}`), metav1.PatchOptions{})
	if err != nil {
		return "", err
	}
	event := <-watching.ResultChan()
	object, ok := event.Object.(*metav1.PartialObjectMetadata)
	if !ok {
		return "", fmt.Errorf("the watch sends %T", event.Object)
	}
	return fmt.Sprintf("%s %s", event.Type, object.Annotations["seen"]), check(
		len(list.Items) == 1 && patched.ResourceVersion == object.ResourceVersion, "%d items; %s is not %s", len(list.Items), patched.ResourceVersion, object.ResourceVersion)
}

func proveTable(ctx context.Context, c *cluster) (string, error) {
	table := &metav1.Table{}
	err := c.plain.CoreV1().RESTClient().Get().Namespace(c.namespace).Resource("configmaps").
		SetHeader("Accept", "application/json;as=Table;v=v1;g=meta.k8s.io").
		Param("labelSelector", "only=meta").Do(ctx).Into(table)
	if err != nil {
		return "", err
	}
	var columns []string
	for _, column := range table.ColumnDefinitions {
		columns = append(columns, column.Name)
	}
	return strings.Join(columns, " "), check(len(table.Rows) == 1 && table.Rows[0].Cells[0] == "meta", "rows %v", table.Rows)
}

// within waits for something that comes through a channel.
func within[T any](ctx context.Context, what string, from <-chan T) (T, error) {
	select {
	case value := <-from:
		return value, nil
	case <-ctx.Done():
		var none T
		return none, fmt.Errorf("never seen: %s", what)
	case <-time.After(90 * time.Second):
		var none T
		return none, fmt.Errorf("not seen in time: %s", what)
	}
}
