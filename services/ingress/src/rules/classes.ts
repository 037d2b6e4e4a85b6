import { DEFAULT_INGRESS_CLASS, type Ingress, INGRESS_CLASS_ANNOTATION, type IngressClass } from '@gantry/objects';

/** The name of this controller. IngressClasses refer to it in `spec.controller`. */
export const CONTROLLER = 'gantry.dev/ingress';

/** The shipped default class. Ingresses without a class get it when they are created. */
export const SHIPPED_CLASS: IngressClass = {
  apiVersion: 'networking.k8s.io/v1',
  kind: 'IngressClass',
  metadata: { name: 'gantry', annotations: { [DEFAULT_INGRESS_CLASS]: 'true' } },
  spec: { controller: CONTROLLER },
};

/**
 * Returns the class of an Ingress. The annotation `kubernetes.io/ingress.class` is older than IngressClasses and has precedence, as the
 * API documents.
 */
export function classOf({ metadata, spec }: Ingress): string | undefined {
  return metadata.annotations?.[INGRESS_CLASS_ANNOTATION] ?? spec?.ingressClassName;
}

/** Whether this controller serves an Ingress, which its class decides. No controller serves an Ingress without a class. */
export function isServed(ingress: Ingress, classes: readonly IngressClass[]): boolean {
  const name = classOf(ingress);
  return (
    name !== undefined &&
    classes.some(({ metadata, spec }) => metadata.name === name && spec?.controller === CONTROLLER)
  );
}

/** Whether the class of an Ingress does not exist: it was deleted, or has not been created yet. */
export function isClassMissing(ingress: Ingress, classes: readonly IngressClass[]): boolean {
  const name = classOf(ingress);
  return name !== undefined && !classes.some(({ metadata }) => metadata.name === name);
}
