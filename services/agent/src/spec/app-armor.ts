import { APP_ARMOR_PREFIX, type Container, type Pod } from '@gantry/objects';
import type { AppArmor } from '../runtime/containers.ts';

const LOCALHOST = 'localhost/';

/** The profile of a container: its own field, else the pod's, else its annotation, as kubelet reads them. */
export function appArmorOf(pod: Pod, container: Container): AppArmor {
  const profile = container.securityContext?.appArmorProfile ?? pod.spec?.securityContext?.appArmorProfile;
  if (profile === undefined) return fromAnnotation(pod.metadata.annotations?.[APP_ARMOR_PREFIX + container.name] ?? '');
  switch (profile.type) {
    case 'Unconfined':
      return { kind: 'unconfined' };
    case 'Localhost':
      return { kind: 'profile', name: profile.localhostProfile ?? '' };
    default:
      return { kind: 'runtime-default' };
  }
}

/** Kubernetes' annotation from before the field: `runtime/default`, `unconfined` or `localhost/NAME`. */
function fromAnnotation(value: string): AppArmor {
  if (value === '') return { kind: 'engine-default' };
  if (value === 'unconfined') return { kind: 'unconfined' };
  if (value.startsWith(LOCALHOST)) return { kind: 'profile', name: value.slice(LOCALHOST.length) };
  return { kind: 'runtime-default' };
}
