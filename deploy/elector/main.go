// Elector is a candidate of the workload `electors` of `npm run chaos`, as a user writes it with client-go: it writes while it leads.
// `elector KUBECONFIG NAMESPACE NAME IDENTITY`: NAME is that of the Lease, and of the ConfigMap that it writes.
//
// It prints a line of JSON when a term begins or ends, and when a write is sent or has its outcome. `cut` on its input holds all bytes
// between it and the API until `mend`. The end of its input, which is also that of its parent, ends it.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/signal"
	"strconv"
	"syscall"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
)

// A leader believes in its term until retryPeriod + renewDeadline after the last response to a renewal, which is electionTimeout late at
// most. That is 5 s after the renewal was stored, and others wait for leaseDuration: the rest is for a slow machine.
const (
	leaseDuration   = 8 * time.Second
	renewDeadline   = 3 * time.Second
	retryPeriod     = 500 * time.Millisecond
	electionTimeout = 1500 * time.Millisecond
	writeTimeout    = 15 * time.Second
	writeEvery      = 250 * time.Millisecond
)

// line is what the parent is told. `sent` is followed by its `done`, which has the Status of a refused write, and only an error of one
// without a response.
type line struct {
	Event           string         `json:"event"`
	ResourceVersion string         `json:"resourceVersion,omitempty"`
	UID             types.UID      `json:"uid,omitempty"`
	Status          *metav1.Status `json:"status,omitempty"`
	Error           string         `json:"error,omitempty"`
}

type candidate struct {
	namespace, name, identity string
	election, writes          kubernetes.Interface
	out                       *json.Encoder
}

func connect(kubeconfig string, link *link) (election, writes kubernetes.Interface, err error) {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return nil, nil, err
	}
	config.QPS = -1
	config.Dial = link.dial
	config.Timeout = electionTimeout
	if election, err = kubernetes.NewForConfig(config); err != nil {
		return nil, nil, err
	}
	slow := rest.CopyConfig(config)
	slow.Timeout = writeTimeout
	writes, err = kubernetes.NewForConfig(slow)
	return election, writes, err
}

// campaign is elected again and again until ctx is done. A term is over when its elector and its writes have ended.
func (c *candidate) campaign(ctx context.Context) error {
	for ctx.Err() == nil {
		term, end := context.WithCancel(ctx)
		written := make(chan struct{})
		elector, err := leaderelection.NewLeaderElector(leaderelection.LeaderElectionConfig{
			Lock: &resourcelock.LeaseLock{
				LeaseMeta:  metav1.ObjectMeta{Namespace: c.namespace, Name: c.name},
				Client:     c.election.CoordinationV1(),
				LockConfig: resourcelock.ResourceLockConfig{Identity: c.identity},
			},
			LeaseDuration: leaseDuration,
			RenewDeadline: renewDeadline,
			RetryPeriod:   retryPeriod,
			Callbacks: leaderelection.LeaderCallbacks{
				OnStartedLeading: func(leads context.Context) {
					defer close(written)
					defer end()
					c.lead(leads)
				},
				OnStoppedLeading: func() {},
			},
		})
		if err != nil {
			end()
			return err
		}
		elector.Run(term)
		end()
		if ctx.Err() != nil {
			return nil
		}
		<-written
		c.say(line{Event: "leads-not"})
	}
	return nil
}

// lead writes until the term ends.
func (c *candidate) lead(ctx context.Context) {
	c.say(line{Event: "leads"})
	fence := ""
	for turn := 0; ctx.Err() == nil; turn++ {
		var err error
		if fence == "" {
			fence, err = c.fence(ctx)
		} else {
			err = c.write(ctx, fence, turn)
		}
		if errors.Is(err, errEnded) {
			return
		}
		select {
		case <-ctx.Done():
		case <-time.After(writeEvery):
		}
	}
}

var errEnded = errors.New("the term has ended")

// fence names the present term, as the header Gantry-Fence has it.
func (c *candidate) fence(ctx context.Context) (string, error) {
	lease, err := c.election.CoordinationV1().Leases(c.namespace).Get(ctx, c.name, metav1.GetOptions{})
	if err != nil {
		return "", err
	}
	holder, transitions := lease.Spec.HolderIdentity, lease.Spec.LeaseTransitions
	if holder == nil || *holder != c.identity || transitions == nil {
		return "", errEnded
	}
	return url.Values{
		"lease":       {c.namespace + "/" + c.name},
		"uid":         {string(lease.UID)},
		"holder":      {c.identity},
		"transitions": {strconv.Itoa(int(*transitions))},
	}.Encode(), nil
}

// write stores the term in the ConfigMap. An API server with fences refuses that after the end of the term; others do not.
func (c *candidate) write(ctx context.Context, fence string, turn int) error {
	patch, err := json.Marshal(map[string]any{"data": map[string]string{"fence": fence, "turn": strconv.Itoa(turn)}})
	if err != nil {
		return err
	}
	c.say(line{Event: "sent"})
	var written corev1.ConfigMap
	err = c.writes.CoreV1().RESTClient().Patch(types.MergePatchType).Namespace(c.namespace).Resource("configmaps").
		Name(c.name).SetHeader("Gantry-Fence", fence).Body(patch).Do(ctx).Into(&written)
	var refused apierrors.APIStatus
	switch {
	case err == nil:
		c.say(line{Event: "done", ResourceVersion: written.ResourceVersion, UID: written.UID})
	case errors.As(err, &refused):
		status := refused.Status()
		c.say(line{Event: "done", Status: &status})
	default:
		c.say(line{Event: "done", Error: err.Error()})
	}
	if apierrors.HasStatusCause(err, "LeadershipEnded") {
		return errEnded
	}
	return err
}

// say is called by one goroutine at a time: by `lead`, and between terms by `campaign`.
func (c *candidate) say(what line) {
	if err := c.out.Encode(what); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) != 4 {
		return errors.New("usage: elector KUBECONFIG NAMESPACE NAME IDENTITY")
	}
	link := newLink()
	election, writes, err := connect(args[0], link)
	if err != nil {
		return err
	}
	ctx, end := context.WithCancel(context.Background())
	defer end()
	go func() {
		defer end()
		for input := bufio.NewScanner(os.Stdin); input.Scan(); {
			link.set(input.Text() == "cut")
		}
	}()
	c := &candidate{
		namespace: args[1], name: args[2], identity: args[3],
		election: election, writes: writes,
		out: json.NewEncoder(os.Stdout),
	}
	return c.campaign(ctx)
}

func main() {
	// Ctrl-C in a terminal reaches the parent's children, too: the parent decides when they end.
	signal.Ignore(os.Interrupt, syscall.SIGTERM)
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
