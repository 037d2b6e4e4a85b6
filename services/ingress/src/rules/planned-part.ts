import {
  ENDPOINT_SLICES,
  type EndpointSlice,
  type Ingress,
  INGRESS_CLASS_ANNOTATION,
  INGRESS_CLASSES,
  type IngressBackend,
  type IngressClass,
  INGRESSES,
  type KubeObject,
  type Service,
  SERVICE_NAME_LABEL,
  SERVICES,
} from '@gantry/objects';
import { routeCost } from './bounds.ts';

/** An annotation of an Ingress in the cache whose rules were left out. Users' annotations of this name do not reach the cache. */
const LEFT_OUT = 'gantry.dev/left-out';

/** Returns only the parts of an object that plans read, because other fields may be large. `resource` is its plural name. */
export function plannedPart(resource: string, object: KubeObject): KubeObject {
  switch (resource) {
    case INGRESSES.resource:
      return ingressPart(object);
    case INGRESS_CLASSES.resource: {
      const { controller = '' } = (object as IngressClass).spec ?? {};
      return { ...headOf(object), spec: { controller } } as KubeObject;
    }
    case SERVICES.resource:
      return servicePart(object);
    case ENDPOINT_SLICES.resource:
      return slicePart(object as EndpointSlice);
    default:
      return object;
  }
}

/** Returns the size of an Ingress: its rules, paths and hosts. Long ones count as several. */
export function sizeOf({ spec }: Ingress): number {
  const costs = (texts: readonly string[]) => texts.reduce((sum, text) => sum + routeCost(text), 0);
  const rules = (spec?.rules ?? []).map(
    ({ host = '', http }) => routeCost(host) + costs((http?.paths ?? []).map(({ path = '' }) => path)),
  );
  const tls = (spec?.tls ?? []).map(({ hosts = [] }) => 1 + costs(hosts));
  return [...rules, ...tls].reduce((sum, cost) => sum + cost, 1);
}

/**
 * Returns the Ingress without its rules. It is served as an Ingress without content, and refused. Its resource version has the same
 * number as the version with rules but another text, because caches report a change if the texts differ.
 */
export function leaveOut(ingress: Ingress): Ingress {
  const { spec } = ingress;
  const { ingressClassName } = spec ?? {};
  const { resourceVersion, ...head } = ingress.metadata;
  const metadata = { ...head, ...(resourceVersion === undefined ? {} : { resourceVersion: `0${resourceVersion}` }) };
  return {
    ...ingress,
    metadata: { ...metadata, annotations: { ...metadata.annotations, [LEFT_OUT]: '' } },
    spec: ingressClassName === undefined ? {} : { ingressClassName },
  };
}

/** Returns the object's version as the API server has it. */
export function storedVersion(resourceVersion: string): string {
  return resourceVersion.replace(/^0+(?=\d)/, '');
}

/** Whether the rules of an Ingress were left out. */
export function isLeftOut({ metadata }: Ingress): boolean {
  return metadata.annotations?.[LEFT_OUT] !== undefined;
}

function headOf({ apiVersion, kind, metadata }: KubeObject): KubeObject {
  const { namespace, name, uid, resourceVersion, generation, creationTimestamp } = metadata;
  const head = { namespace, name, uid, resourceVersion, generation, creationTimestamp };
  return { apiVersion, kind, metadata: defined(head) };
}

function ingressPart(object: Ingress): Ingress {
  const { apiVersion, kind, metadata } = headOf(object);
  const name = object.metadata.annotations?.[INGRESS_CLASS_ANNOTATION];
  const { ingressClassName, defaultBackend, rules, tls } = object.spec ?? {};
  return {
    apiVersion,
    kind,
    metadata: { ...metadata, ...(name === undefined ? {} : { annotations: { [INGRESS_CLASS_ANNOTATION]: name } }) },
    spec: defined({
      ingressClassName,
      defaultBackend: mapDefined(defaultBackend, backendPart),
      rules: rules?.map(({ host, http }) =>
        defined({
          host,
          http: mapDefined(http, ({ paths }) => ({
            paths: (paths ?? []).map(({ path, pathType, backend }) => ({
              ...defined({ path }),
              pathType,
              backend: backendPart(backend),
            })),
          })),
        }),
      ),
      tls: tls?.map(({ hosts, secretName }) => defined({ hosts, secretName })),
    }),
    ...defined({ status: mapDefined(object.status, ({ loadBalancer }) => defined({ loadBalancer })) }),
  };
}

function backendPart({ service }: IngressBackend): IngressBackend {
  return defined({ service });
}

function servicePart(object: Service): Service {
  const { type, ports } = object.spec ?? {};
  const kept = ports?.map(({ name, port, protocol, appProtocol }) => ({
    port,
    ...defined({ name, protocol, appProtocol }),
  }));
  return { ...headOf(object), spec: defined({ type, ports: kept }) };
}

/** Slices are found by the Service in their label. */
function slicePart(slice: EndpointSlice): EndpointSlice {
  const { apiVersion, kind, metadata } = headOf(slice);
  const { addressType, ports, endpoints } = slice;
  const service = slice.metadata.labels?.[SERVICE_NAME_LABEL];
  const head = { apiVersion, kind, addressType };
  if (service === undefined) return { ...head, metadata, endpoints: [] };
  return {
    ...head,
    metadata: { ...metadata, labels: { [SERVICE_NAME_LABEL]: service } },
    ...defined({ ports }),
    endpoints: (endpoints ?? []).map(({ addresses, conditions }) => ({
      addresses: addresses.slice(0, 1),
      ...defined({ conditions }),
    })),
  };
}

function mapDefined<T, R>(value: T | null | undefined, partOf: (value: T) => R): R | undefined {
  return value === null || value === undefined ? undefined : partOf(value);
}

/** The fields that have a value. The API may also write null for a missing value. */
type Defined<T> = { [Name in keyof T]: Exclude<T[Name], undefined> };

function defined<T extends object>(fields: T): Partial<Defined<T>> {
  return Object.fromEntries(
    Object.entries(fields).filter(([, value]) => value !== undefined && value !== null),
  ) as Partial<Defined<T>>;
}
