import type { Pod } from '@gantry/objects';
import type { EnginePrivilege } from '../runtime/engine.ts';
import type { Owner } from '../runtime/labels.ts';
import type { SandboxSpec } from '../runtime/sandboxes.ts';
import { podHostname, sandboxDns } from './dns.ts';
import { graceSecondsOf } from './pod-containers.ts';
import { identityOf } from './pod-names.ts';
import { sandboxOomScore } from './resources.ts';

/** The pod, the attempt and the network of its sandbox. */
export interface SandboxSpecInput {
  readonly owner: Owner;
  readonly pod: Pod;
  readonly attempt: number;
  readonly image: string;
  readonly network: SandboxSpec['network'];
  readonly engine: EnginePrivilege;
}

/** A pod's sandbox as the runtime takes it. */
export function sandboxSpec({ owner, pod, attempt, image, network, engine }: SandboxSpecInput): SandboxSpec {
  const sysctls = pod.spec?.securityContext?.sysctls ?? [];
  return {
    owner,
    pod: identityOf(pod),
    attempt,
    image,
    hostname: podHostname(pod),
    network,
    hostAliases: (pod.spec?.hostAliases ?? []).map(({ ip, hostnames = [] }) => ({ ip, hostnames })),
    dns: sandboxDns(pod),
    sysctls: Object.fromEntries(sysctls.map(({ name, value }) => [name, value])),
    oomScoreAdj: sandboxOomScore(engine),
    graceSeconds: graceSecondsOf(pod),
  };
}
