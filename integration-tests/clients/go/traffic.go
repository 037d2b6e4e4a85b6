package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/tools/cache"
)

const (
	trafficWorkers = 4
	trafficPause   = 50 * time.Millisecond
	requestTimeout = 60 * time.Second
)

// trafficReport is what the requests met. A failure is an error that client-go returns after its own retries.
type trafficReport struct {
	Requests int      `json:"requests"`
	Failures []string `json:"failures"`
	// The longest time of a request, with its retries.
	LongestMs int64 `json:"longestMs"`
	// Objects that were created and deleted, and that the informer has not seen so.
	Missed []string `json:"missed"`
}

type trafficRecorder struct {
	sync.Mutex
	report  trafficReport
	created map[string]bool
	seen    map[string]int
}

func (r *trafficRecorder) request(what string, send func(ctx context.Context) error) bool {
	ctx, cancel := context.WithTimeout(context.Background(), requestTimeout)
	defer cancel()
	start := time.Now()
	err := send(ctx)
	took := time.Since(start).Milliseconds()
	r.Lock()
	defer r.Unlock()
	r.report.Requests++
	r.report.LongestMs = max(r.report.LongestMs, took)
	if err != nil {
		r.report.Failures = append(r.report.Failures, fmt.Sprintf("%s %s after %d ms: %v", start.UTC().Format("15:04:05.000"), what, took, err))
	}
	return err == nil
}

// work makes one object, reads, lists and changes it, and deletes it.
func (r *trafficRecorder) work(c *cluster, name string) {
	client := c.typed.CoreV1().ConfigMaps(c.namespace)
	object := configMap(name, map[string]string{"traffic": "yes"}, nil)
	if !r.request("create", func(ctx context.Context) error { _, err := client.Create(ctx, object, metav1.CreateOptions{}); return err }) {
		return
	}
	r.Lock()
	r.created[name] = true
	r.Unlock()
	var found *corev1.ConfigMap
	steps := []struct {
		what string
		send func(ctx context.Context) error
	}{
		{"get", func(ctx context.Context) (err error) { found, err = client.Get(ctx, name, metav1.GetOptions{}); return }},
		{"list", func(ctx context.Context) error { _, err := client.List(ctx, metav1.ListOptions{}); return err }},
		{"update", func(ctx context.Context) error {
			if found == nil {
				return nil
			}
			found.Data = map[string]string{"changed": "yes"}
			_, err := client.Update(ctx, found, metav1.UpdateOptions{})
			return err
		}},
		{"delete", func(ctx context.Context) error { return client.Delete(ctx, name, metav1.DeleteOptions{}) }},
	}
	for _, step := range steps {
		time.Sleep(trafficPause)
		r.request(step.what, step.send)
	}
}

// count notes that the informer was told of an object's creation or deletion.
func (r *trafficRecorder) count(object any) {
	key, _ := cache.DeletionHandlingMetaNamespaceKeyFunc(object)
	_, name, _ := cache.SplitMetaNamespaceKey(key)
	r.Lock()
	defer r.Unlock()
	r.seen[name]++
}

func (r *trafficRecorder) missed() []string {
	r.Lock()
	defer r.Unlock()
	missed := []string{}
	for name := range r.created {
		if r.seen[name] < 2 {
			missed = append(missed, name)
		}
	}
	return missed
}

// traffic sends requests and watches until its input ends, and prints a trafficReport.
func traffic(c *cluster, input io.Reader, out *json.Encoder) error {
	r := &trafficRecorder{report: trafficReport{Failures: []string{}}, created: map[string]bool{}, seen: map[string]int{}}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	factory := informers.NewSharedInformerFactoryWithOptions(c.typed, 0, informers.WithNamespace(c.namespace),
		informers.WithTweakListOptions(func(options *metav1.ListOptions) { options.LabelSelector = "traffic=yes" }))
	informer := factory.Core().V1().ConfigMaps().Informer()
	if _, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{AddFunc: r.count, DeleteFunc: r.count}); err != nil {
		return err
	}
	factory.StartWithContext(ctx)
	if !cache.WaitForCacheSync(ctx.Done(), informer.HasSynced) {
		return fmt.Errorf("the informer does not sync")
	}
	ended := make(chan struct{})
	go func() {
		_, _ = io.Copy(io.Discard, input)
		close(ended)
	}()
	if err := out.Encode("started"); err != nil {
		return err
	}
	var workers sync.WaitGroup
	for worker := range trafficWorkers {
		workers.Go(func() {
			for round := 0; ; round++ {
				select {
				case <-ended:
					return
				default:
					r.work(c, fmt.Sprintf("traffic-%d-%d", worker, round))
				}
			}
		})
	}
	workers.Wait()
	for end := time.Now().Add(requestTimeout); len(r.missed()) > 0 && time.Now().Before(end); {
		time.Sleep(trafficPause)
	}
	r.report.Missed = r.missed()
	return out.Encode(r.report)
}
