import { DEFAULT_INGRESS_CLASS, INGRESS_CLASS_ANNOTATION, INGRESS_CLASSES, type KubeObject } from '@gantry/objects';
import type { AdmissionCheck } from './check/admission-check.ts';
import { newestDefault } from './default-class.ts';

const DEFAULT = [DEFAULT_INGRESS_CLASS];

/** A new Ingress that says nothing about its class gets the default one, if there is one. */
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
