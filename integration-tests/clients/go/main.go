// Proves that client-go works against a cluster: `prove KUBECONFIG NAMESPACE`. Prints a JSON line for each proof and ends
// with 1 where one fails. The namespace must exist and be empty of what the proofs make. `prove KUBECONFIG NAMESPACE traffic`
// sends requests instead until its input ends.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"time"

	"k8s.io/client-go/discovery"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"
	"k8s.io/client-go/tools/clientcmd"
)

const proofTimeout = 120 * time.Second

// cluster is one cluster as several clients see it.
type cluster struct {
	namespace string
	json      *rest.Config
	typed     kubernetes.Interface // speaks protobuf
	plain     kubernetes.Interface // speaks JSON
	dynamic   dynamic.Interface
	metadata  metadata.Interface
	discovery discovery.CachedDiscoveryInterface
	mapper    *restmapper.DeferredDiscoveryRESTMapper
}

// proof asks the cluster for something and tells in a few words what was seen.
type proof struct {
	name  string
	prove func(ctx context.Context, c *cluster) (string, error)
}

func connect(kubeconfig, namespace string) (*cluster, error) {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return nil, err
	}
	config.QPS, config.Burst = 200, 400
	c := &cluster{namespace: namespace, json: config}
	binary := rest.CopyConfig(config)
	binary.ContentType = "application/vnd.kubernetes.protobuf"
	binary.AcceptContentTypes = "application/vnd.kubernetes.protobuf"
	if c.typed, err = kubernetes.NewForConfig(binary); err != nil {
		return nil, err
	}
	plain, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	c.plain = plain
	if c.dynamic, err = dynamic.NewForConfig(config); err != nil {
		return nil, err
	}
	if c.metadata, err = metadata.NewForConfig(config); err != nil {
		return nil, err
	}
	c.discovery = memory.NewMemCacheClient(plain.Discovery())
	c.mapper = restmapper.NewDeferredDiscoveryRESTMapper(c.discovery)
	return c, nil
}

func run(args []string) error {
	isTraffic := len(args) == 3 && args[2] == "traffic"
	if len(args) != 2 && !isTraffic {
		return fmt.Errorf("usage: prove KUBECONFIG NAMESPACE [traffic]")
	}
	c, err := connect(args[0], args[1])
	if err != nil {
		return err
	}
	out := json.NewEncoder(os.Stdout)
	if isTraffic {
		return traffic(c, os.Stdin, out)
	}
	failed := 0
	for _, one := range proofs {
		ctx, cancel := context.WithTimeout(context.Background(), proofTimeout)
		seen, err := one.prove(ctx, c)
		cancel()
		line := map[string]string{"proof": one.name, "seen": seen}
		if err != nil {
			failed++
			line = map[string]string{"proof": one.name, "error": err.Error()}
		}
		if err := out.Encode(line); err != nil {
			return err
		}
	}
	if failed > 0 {
		return fmt.Errorf("%d proofs failed", failed)
	}
	return nil
}

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
