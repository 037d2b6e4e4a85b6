import {
  DEFAULT_INGRESS_CLASS,
  DEFAULT_STORAGE_CLASS_MARKS,
  INGRESS_CLASS_ANNOTATION,
  INGRESS_CLASSES,
  type KubeObject,
  type PersistentVolumeClaim,
  STORAGE_CLASS_ANNOTATION,
  STORAGE_CLASSES,
} from '@gantry/objects';
import { type AdmissionCheck, isCore } from './check/admission-check.ts';

/** The newest class with a default annotation. Among classes of the same age, the first by name. */
export function newestDefault<T extends KubeObject>(
  classes: readonly T[],
  annotations: readonly string[],
): T | undefined {
  const marked = classes.filter(({ metadata }) =>
    annotations.some((annotation) => metadata.annotations?.[annotation] === 'true'),
  );
  const rank = ({ metadata }: T) => Date.parse(metadata.creationTimestamp ?? '');
  const [first] = marked.sort(
    (a, b) => rank(b) - rank(a) || ((a.metadata.name ?? '') < (b.metadata.name ?? '') ? -1 : 1),
  );
  return first;
}

const DEFAULT = [DEFAULT_INGRESS_CLASS];

/** Sets the default class of a new Ingress without a class, if there is a default. */
export const defaultIngressClass: AdmissionCheck = {
  name: 'DefaultIngressClass',
  mutate: async ({ operation, definition, subresource, object }, reader) => {
    if (operation !== 'create' || subresource !== '') return;
    if (definition.group !== 'networking.k8s.io' || definition.resource !== 'ingresses') return;
    const ingress = object as KubeObject & { spec?: { ingressClassName?: string } };
    if (ingress.spec === undefined || ingress.spec.ingressClassName !== undefined) return;
    if (ingress.metadata.annotations?.[INGRESS_CLASS_ANNOTATION] !== undefined) return;
    const found = newestDefault(await reader.list<KubeObject>(INGRESS_CLASSES, ''), DEFAULT);
    if (found?.metadata.name !== undefined) ingress.spec.ingressClassName = found.metadata.name;
  },
};

/** Sets the default storage class of a new PersistentVolumeClaim without a class, if there is a default. */
export const defaultStorageClass: AdmissionCheck = {
  name: 'DefaultStorageClass',
  mutate: async (request, reader) => {
    if (request.operation !== 'create' || !isCore(request, 'persistentvolumeclaims')) return;
    const claim = request.object as PersistentVolumeClaim;
    if (claim.spec === undefined || claim.spec.storageClassName !== undefined) return;
    if (claim.metadata.annotations?.[STORAGE_CLASS_ANNOTATION] !== undefined) return;
    const found = newestDefault(await reader.list<KubeObject>(STORAGE_CLASSES, ''), DEFAULT_STORAGE_CLASS_MARKS);
    if (found?.metadata.name !== undefined) claim.spec.storageClassName = found.metadata.name;
  },
};
