import { OS_LABEL, type Pod } from '@gantry/objects';
import type { EngineInfo } from '../runtime/engine.ts';
import { hostnameRefusal } from './hostname.ts';
import { ownContainersOf } from './pod-containers.ts';
import { forbiddenSysctl } from './sysctls.ts';
import { appArmorOf } from './security.ts';

/** Why this node never runs a pod: the pod fails with this reason and `Pod was rejected: MESSAGE`. */
export interface PodRejection {
  readonly reason: string;
  readonly message: string;
}

/** The properties of an engine that rejections depend on. */
type EngineFeatures = Pick<EngineInfo, 'kernel' | 'appArmor' | 'podGroups'>;

type Rule = (pod: Pod, engine: EngineFeatures) => PodRejection | undefined;

const OS = 'linux';

/** Why pods cannot have control groups of their own. */
const NO_GROUPS: Readonly<Record<Exclude<EngineInfo['podGroups'], 'supported'>, string>> = {
  driver: 'its engine leaves control groups to systemd',
  unreachable: "its agent cannot write the engine's control groups",
};

/** Rules in the kubelet's order, with its reasons and messages: pkg/kubelet/sysctl, pkg/kubelet/lifecycle, pkg/security/apparmor. */
const RULES: readonly Rule[] = [
  function unsafeSysctl(pod, { kernel }) {
    const message = forbiddenSysctl(pod, kernel);
    return message === undefined ? undefined : { reason: 'SysctlForbidden', message };
  },
  function otherSystemByLabel({ metadata }) {
    const label = metadata.labels?.[OS_LABEL];
    if (label === undefined || label === OS) return undefined;
    const message = `Failed to admit pod as the \`${OS_LABEL}\` label doesn't match node label`;
    return { reason: 'PodOSSelectorNodeLabelDoesNotMatch', message };
  },
  function otherSystem({ spec }) {
    if (spec?.os === undefined || spec.os.name === OS) return undefined;
    return { reason: 'PodOSNotSupported', message: "Failed to admit pod as the OS field doesn't match node OS" };
  },
  function appArmorWithoutSupport(pod, { appArmor }) {
    const needsNone = ownContainersOf(pod).every(({ container }) =>
      ['engine-default', 'unconfined'].includes(appArmorOf(pod, container).kind),
    );
    if (appArmor === 'enabled' || needsNone) return undefined;
    return { reason: 'AppArmor', message: 'Cannot enforce AppArmor: AppArmor is not enabled on the host' };
  },
  // Requests do not cause a rejection: the scheduler and evictions apply them without control groups.
  function limitsOfPod({ spec }, { podGroups }) {
    if (podGroups === 'supported' || Object.keys(spec?.resources?.limits ?? {}).length === 0) return undefined;
    const message = `this node does not enforce spec.resources.limits of a pod, since ${NO_GROUPS[podGroups]}: set limits of its containers`;
    return { reason: 'PodLevelResourcesNotSupported', message };
  },
];

/** Why a node on this engine rejects a pod before anything of it is created. */
export function podRejection(pod: Pod, engine: EngineFeatures): PodRejection | undefined {
  for (const rule of RULES) {
    const rejection = rule(pod, engine);
    if (rejection !== undefined) return rejection;
  }
  return undefined;
}

/**
 * Why this node cannot create a pod's sandbox, with the kubelet's messages. Like in the kubelet, creation is tried again. Pod Security
 * skips checks for a pod with user namespaces (`hostUsers: false`), so such a pod must never run in the host's.
 */
export function sandboxRefusal(pod: Pod): string | undefined {
  if (pod.spec?.hostUsers === false) {
    return "can't set `spec.hostUsers: false`, runtime does not support user namespaces";
  }
  // A container must not run without a device that it requests.
  if ((pod.spec?.resourceClaims ?? []).length > 0) {
    return 'this node has no driver for dynamic resource allocation: spec.resourceClaims cannot be prepared';
  }
  return hostnameRefusal(pod);
}
