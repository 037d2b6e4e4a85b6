// Answers generated cases with the plugins of the real kube-scheduler: which nodes are feasible, what the plugins score, and which pods
// preemption would evict on which node. It reads cases (one JSON object a line) and writes one answer a line.
//
// It belongs into a copy of the module k8s.io/kubernetes (cmd/scheduling-cases/main.go), as it uses packages that are not exported:
//
//	node --conditions=gantry-source services/scheduler/src/testing/reference/generated-case.ts 5000 > cases.jsonl
//	go build -mod=mod -o scheduling-cases ./cmd/scheduling-cases && ./scheduling-cases < cases.jsonl > answers.jsonl
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"sort"
	"strings"

	apps "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	policy "k8s.io/api/policy/v1"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/events"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/apis/config"
	"k8s.io/kubernetes/pkg/scheduler/apis/config/latest"
	internalcache "k8s.io/kubernetes/pkg/scheduler/backend/cache"
	internalqueue "k8s.io/kubernetes/pkg/scheduler/backend/queue"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/defaultpreemption"
	plfeature "k8s.io/kubernetes/pkg/scheduler/framework/plugins/feature"
	frameworkruntime "k8s.io/kubernetes/pkg/scheduler/framework/runtime"
	"k8s.io/kubernetes/pkg/scheduler/metrics"
)

type schedulingCase struct {
	Nodes       []*v1.Node                    `json:"nodes"`
	Pods        []*v1.Pod                     `json:"pods"`
	Namespaces  []*v1.Namespace               `json:"namespaces"`
	Budgets     []*policy.PodDisruptionBudget `json:"budgets"`
	Services    []*v1.Service                 `json:"services"`
	ReplicaSets []*apps.ReplicaSet            `json:"replicaSets"`
	Pod         *v1.Pod                       `json:"pod"`
}

type answer struct {
	// Indexes of the nodes.
	Feasible []int `json:"f"`
	// Points of the feasible nodes by plugin, where they differ.
	Scores map[string][]int64 `json:"s,omitempty"`
	// By the node's index: the number of violated budgets and the names of the victims.
	Victims map[string]string `json:"v,omitempty"`
	// The best nodes of these. Several are equally good.
	Chosen []int `json:"c,omitempty"`
}

// The weights of the plugins that score.
var weights = map[string]int64{"TaintToleration": 3, "PodTopologySpread": 2, "InterPodAffinity": 2, "NodeResourcesFit": 1,
	"NodeAffinity": 2, "NodeResourcesBalancedAllocation": 1, "ImageLocality": 1}

func main() {
	klog.LogToStderr(false)
	klog.SetOutput(devNull{})
	metrics.Register()
	defaults, err := latest.Default()
	check(err)
	profile := defaults.Profiles[0]
	// It needs a manager of claims to devices, and no case has any.
	enabled := &profile.Plugins.MultiPoint.Enabled
	*enabled = slices.DeleteFunc(*enabled, func(p config.Plugin) bool { return p.Name == "DynamicResources" })
	in := bufio.NewScanner(os.Stdin)
	in.Buffer(nil, 16<<20)
	out := bufio.NewWriter(os.Stdout)
	defer out.Flush()
	for number := 0; in.Scan(); number++ {
		var c schedulingCase
		check(json.Unmarshal(in.Bytes(), &c))
		result, err := solve(&c, &profile)
		if err != nil {
			check(fmt.Errorf("case %d: %w", number, err))
		}
		line, err := json.Marshal(result)
		check(err)
		out.Write(line)
		out.WriteByte('\n')
	}
	check(in.Err())
}

func solve(c *schedulingCase, profile *config.KubeSchedulerProfile) (*answer, error) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	// Nothing is read over it: what plugins list is in the indexers of informers that never run.
	client := kubernetes.NewForConfigOrDie(&rest.Config{Host: "http://127.0.0.1:1"})
	factory := informers.NewSharedInformerFactory(client, 0)
	for _, n := range c.Namespaces {
		check(factory.Core().V1().Namespaces().Informer().GetIndexer().Add(n))
	}
	for _, b := range c.Budgets {
		check(factory.Policy().V1().PodDisruptionBudgets().Informer().GetIndexer().Add(b))
	}
	for _, p := range append([]*v1.Pod{c.Pod}, c.Pods...) {
		check(factory.Core().V1().Pods().Informer().GetIndexer().Add(p))
	}
	for _, s := range c.Services {
		check(factory.Core().V1().Services().Informer().GetIndexer().Add(s))
	}
	for _, r := range c.ReplicaSets {
		check(factory.Apps().V1().ReplicaSets().Informer().GetIndexer().Add(r))
	}
	queue := internalqueue.NewSchedulingQueue(func(fwk.QueuedPodInfo, fwk.QueuedPodInfo) bool { return false }, factory)
	placed := []*v1.Pod{}
	for _, p := range c.Pods {
		if p.Spec.NodeName != "" {
			placed = append(placed, p)
		} else {
			queue.Add(ctx, p)
		}
	}
	snapshot := internalcache.NewSnapshot(placed, c.Nodes)
	f, err := frameworkruntime.NewFramework(ctx, plugins.NewInTreeRegistry(), profile,
		frameworkruntime.WithClientSet(client),
		frameworkruntime.WithInformerFactory(factory),
		frameworkruntime.WithEventRecorder(&events.FakeRecorder{}),
		frameworkruntime.WithPodNominator(queue),
		frameworkruntime.WithSnapshotSharedLister(snapshot),
		frameworkruntime.WithParallelism(1),
		frameworkruntime.WithWaitingPods(frameworkruntime.NewWaitingPodsMap()),
		frameworkruntime.WithPodsInPreBind(frameworkruntime.NewPodsInPreBindMap()),
		frameworkruntime.WithLogger(klog.FromContext(ctx)))
	if err != nil {
		return nil, err
	}
	index := map[string]int{}
	for i, n := range c.Nodes {
		index[n.Name] = i
	}
	state := framework.NewCycleState()
	statuses := framework.NewDefaultNodeToStatus()
	result := &answer{Feasible: []int{}}
	allowed, status, _ := f.RunPreFilterPlugins(ctx, state, c.Pod)
	if !status.IsSuccess() && !status.IsRejected() {
		return nil, status.AsError()
	}
	feasible := []fwk.NodeInfo{}
	if status.IsSuccess() {
		for _, n := range c.Nodes {
			info, err := snapshot.NodeInfos().Get(n.Name)
			check(err)
			if !allowed.AllNodes() && !allowed.NodeNames.Has(n.Name) {
				statuses.Set(n.Name, fwk.NewStatus(fwk.UnschedulableAndUnresolvable, "excluded"))
				continue
			}
			if s := f.RunFilterPluginsWithNominatedPods(ctx, state, c.Pod, info); s.IsSuccess() {
				feasible = append(feasible, info)
				result.Feasible = append(result.Feasible, index[n.Name])
			} else {
				statuses.Set(n.Name, s)
			}
		}
	} else {
		statuses.SetAbsentNodesStatus(status)
	}
	if len(feasible) > 1 {
		if s := f.RunPreScorePlugins(ctx, state, c.Pod, feasible); !s.IsSuccess() {
			return nil, s.AsError()
		}
		scores, s := f.RunScorePlugins(ctx, state, c.Pod, feasible)
		if !s.IsSuccess() {
			return nil, s.AsError()
		}
		addScores(result, scores)
	}
	if len(feasible) == 0 && status.IsSuccess() {
		return result, preempt(ctx, c, f, state, statuses, factory, index, result)
	}
	return result, nil
}

func addScores(result *answer, scores []fwk.NodePluginScores) {
	result.Scores = map[string][]int64{}
	for _, node := range scores {
		for _, s := range node.Scores {
			if weights[s.Name] == 0 {
				check(fmt.Errorf("no weight of %s", s.Name))
			}
			result.Scores[s.Name] = append(result.Scores[s.Name], s.Score/weights[s.Name])
		}
	}
	for name, points := range result.Scores {
		same := true
		for _, p := range points {
			same = same && p == points[0]
		}
		if same {
			delete(result.Scores, name)
		}
	}
}

func preempt(ctx context.Context, c *schedulingCase, f framework.Framework, state fwk.CycleState, statuses *framework.NodeToStatus,
	factory informers.SharedInformerFactory, index map[string]int, result *answer) error {
	plugin, err := defaultpreemption.New(ctx, &config.DefaultPreemptionArgs{MinCandidateNodesPercentage: 10, MinCandidateNodesAbsolute: 100}, f,
		plfeature.NewSchedulerFeaturesFromGates(utilfeature.DefaultFeatureGate))
	if err != nil {
		return err
	}
	if ok, _ := plugin.PodEligibleToPreemptOthers(ctx, c.Pod, nil); !ok {
		return nil
	}
	potential, err := statuses.NodesForStatusCode(f.SnapshotSharedLister().NodeInfos(), fwk.Unschedulable)
	if err != nil || len(potential) == 0 {
		return err
	}
	candidates, _, err := plugin.Evaluator.DryRunPreemption(ctx, state, c.Pod, potential, c.Budgets, 0, int32(len(potential)))
	if err != nil && len(candidates) == 0 {
		return nil // a node where the pod would fit at once is no candidate
	}
	result.Victims = map[string]string{}
	for _, candidate := range candidates {
		names := []string{}
		for _, p := range candidate.Victims().Pods {
			names = append(names, p.Name)
		}
		sort.Strings(names)
		result.Victims[fmt.Sprint(index[candidate.Name()])] = fmt.Sprintf("%d:%s", candidate.Victims().NumPDBViolations, strings.Join(names, " "))
	}
	// Among equal candidates it takes the first of a map, so repetitions find all of them.
	chosen := map[int]bool{}
	for range 60 {
		if best := plugin.Evaluator.SelectCandidate(ctx, candidates); best != nil && !chosen[index[best.Name()]] {
			chosen[index[best.Name()]] = true
			result.Chosen = append(result.Chosen, index[best.Name()])
		}
	}
	sort.Ints(result.Chosen)
	return nil
}

type devNull struct{}

func (devNull) Write(p []byte) (int, error) { return len(p), nil }

func check(err error) {
	if err != nil {
		panic(err)
	}
}
