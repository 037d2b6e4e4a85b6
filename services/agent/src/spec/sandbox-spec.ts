import type { Pod } from '@gantry/objects';
import type { EngineInfo, EnginePrivilege } from '../runtime/engine.ts';
import type { ImageInfo } from '../runtime/images.ts';
import type { Instances, Owner } from '../runtime/labels.ts';
import type { SandboxSpec } from '../runtime/sandboxes.ts';
import { sandboxDns } from './dns.ts';
import { kernelHostname } from './hostname.ts';
import { graceSecondsOf } from './pod-containers.ts';
import { identityOf } from './pod-names.ts';
import { sandboxOomScore } from './oom-score.ts';
import { groupResources } from './resources.ts';
import { dottedSysctl } from './sysctls.ts';

/** The pod, the attempt and the network of its sandbox. */
export interface SandboxSpecInput {
  readonly owner: Owner;
  readonly pod: Pod;
  /** Absent: any. */
  readonly instances?: Instances;
  readonly attempt: number;
  readonly image: ImageInfo;
  readonly network: SandboxSpec['network'];
  readonly privilege: EnginePrivilege;
  readonly engine: Pick<EngineInfo, 'seccomp' | 'podGroups'>;
  /** The handler of the pod's RuntimeClass. */
  readonly runtime?: string;
}

/** The runtime's definition of a pod's sandbox. */
export function sandboxSpec(input: SandboxSpecInput): SandboxSpec {
  const { owner, pod, attempt, image, network, privilege, engine, runtime } = input;
  const resources = groupResources(pod, engine);
  const sysctls = pod.spec?.securityContext?.sysctls ?? [];
  return {
    owner,
    pod: identityOf(pod),
    attempt,
    image: image.id,
    imageLabels: image.labels,
    runtime,
    ipc: pod.spec?.hostIPC === true ? 'host' : 'own',
    // An engine without default profile refuses any profile.
    seccomp: engine.seccomp === 'default-profile' ? 'own' : 'engine-default',
    hostname: kernelHostname(pod),
    network,
    hostAliases: (pod.spec?.hostAliases ?? []).map(({ ip, hostnames = [] }) => ({ ip, hostnames })),
    dns: sandboxDns(pod),
    sysctls: Object.fromEntries(sysctls.map(({ name, value }) => [dottedSysctl(name), value])),
    oomScoreAdj: sandboxOomScore(privilege),
    graceSeconds: graceSecondsOf(pod),
    instances: input.instances,
    resources,
  };
}
