/** With 'true', the annotation of an IngressClass that objects without a class get. */
export const DEFAULT_INGRESS_CLASS = 'ingressclass.kubernetes.io/is-default-class';

/** The same of a StorageClass, and the annotation's older name, which has the same effect. */
export const DEFAULT_STORAGE_CLASS = 'storageclass.kubernetes.io/is-default-class';
export const DEFAULT_STORAGE_CLASS_MARKS: readonly string[] = [
  DEFAULT_STORAGE_CLASS,
  'storageclass.beta.kubernetes.io/is-default-class',
];

/** An Ingress's annotation: its class. It is older than `ingressClassName`. */
export const INGRESS_CLASS_ANNOTATION = 'kubernetes.io/ingress.class';

/** The annotation of volumes and claims with their class. It is older than `storageClassName`, and wins where both are set. */
export const STORAGE_CLASS_ANNOTATION = 'volume.beta.kubernetes.io/storage-class';
