/** An EndpointSlice's label: the name of its Service. */
export const SERVICE_NAME_LABEL = 'kubernetes.io/service-name';

/** The labels of an EndpointSlice and of Endpoints: which controller writes them. */
export const SLICE_MANAGER_LABEL = 'endpointslice.kubernetes.io/managed-by';
export const ENDPOINTS_MANAGER_LABEL = 'endpoints.kubernetes.io/managed-by';

/** The label of Endpoints: with 'true', no EndpointSlices are made from them. */
export const SKIP_MIRROR_LABEL = 'endpointslice.kubernetes.io/skip-mirror';

/** The annotation of EndpointSlices and Endpoints: when the last change happened from which they follow. */
export const TRIGGER_TIME_ANNOTATION = 'endpoints.kubernetes.io/last-change-trigger-time';

/** A Service's annotation: whether its endpoints get hints for zones; and the annotation's older name, which wins. */
export const TOPOLOGY_MODE_ANNOTATION = 'service.kubernetes.io/topology-mode';
export const OLD_TOPOLOGY_MODE_ANNOTATION = 'service.kubernetes.io/topology-aware-hints';
