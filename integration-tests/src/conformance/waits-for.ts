import type { ConformanceClass, ConformanceTest } from './catalogue.ts';

const BY_CLASS: Readonly<Record<ConformanceClass, string>> = {
  A: 'a test of ours',
  B: 'its controller',
  F: 'its controller, and pods that report what they run',
  R: 'pods that run with all that their spec asks',
};

/** What an area's tests of a class wait for, when it is something in particular. */
const BY_AREA: Readonly<Record<string, string>> = {
  'B CronJob': 'the CronJob controller',
  'B Disruption (PDB, eviction)': 'the disruption controller',
  'B Job': 'the Job controller',
  'B ReplicationController': 'the ReplicationController controller',
  'B EndpointSlice': 'the EndpointSlice controller',
  'B EndpointSlice mirroring': 'the EndpointSlice mirroring controller',
  'B Endpoints': 'the Endpoints controller',
  'B Garbage collector': 'the ReplicationController controller',
  'B ResourceQuota': 'the resource quota controller',
  'B PV/PVC API': 'the controllers of volumes and their protection',
  'B RuntimeClass': 'admission of RuntimeClass',
  'B SchedulerPredicates': 'predicates of the scheduler',
  'F ControllerRevision': 'the DaemonSet controller',
  'F CronJob': 'the CronJob controller',
  'F DaemonSet': 'the DaemonSet controller',
  'F Disruption (PDB, eviction)': 'the disruption controller',
  'F Job': 'the Job controller',
  'F ReplicationController': 'the ReplicationController controller',
  'F StatefulSet': 'the StatefulSet controller',
  'F EndpointSlice': 'the EndpointSlice controller',
  'F Endpoints': 'the Endpoints controller',
  'F Service endpoint latency': 'the Endpoints controller',
  'F Preemption / PriorityClass': 'preemption by the scheduler',
  'R Admission webhooks': 'services that pods stand behind',
  'R Aggregator (APIService)': 'services that pods stand behind',
  'R CRD conversion webhook': 'services that pods stand behind',
  'R CRD selectable fields': 'services that pods stand behind',
  'R DNS': 'cluster DNS',
  'R Services': 'service routing on the nodes',
  'R HostPort': 'host ports',
  'R Projected PodCertificate': 'projected volumes',
  'R Job': 'the Job controller',
  'R StatefulSet': 'the StatefulSet controller',
  'R Probes': 'probes of the agent',
  'R Lifecycle hooks': 'lifecycle hooks of the agent',
  'R apiserver proxy subresource': 'the proxy subresource',
  'R In-place pod resize': 'in-place resize by the agent',
  'R Ephemeral containers': 'ephemeral containers of the agent',
  'R Image volume': 'image volumes of the agent',
  'R Init containers': 'init containers of the agent',
  'R kubectl logs': 'images of the official suite on the nodes',
  'R Security context': 'security contexts in the agent',
  'R Sysctls': 'sysctls in the agent',
};

/** What a test that nothing of ours asks yet waits for. */
export function waitsFor(test: ConformanceTest): string {
  return BY_AREA[`${test.class} ${test.area}`] ?? BY_CLASS[test.class];
}
