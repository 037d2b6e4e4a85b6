import { labelSelectorFrom, SERVICE_NAME_LABEL } from '@gantry/objects';
import type {
  EndpointSlice,
  HorizontalPodAutoscaler,
  Ingress,
  KubeObject,
  PersistentVolumeClaim,
  Pod,
  PodDisruptionBudget,
  PodSpec,
  Service,
} from '@gantry/objects';

/** A node of the graph: an object, or one that is referred to and was not found. */
export interface GraphNode {
  /** `kind/name`: unique in a namespace. */
  readonly id: string;
  readonly kind: string;
  readonly name: string;
  readonly object: KubeObject | undefined;
}

export interface GraphEdge {
  readonly from: string;
  readonly to: string;
  /** What the relation is: `owns`, `routes to`, `mounts` … */
  readonly label: string;
}

export interface Graph {
  readonly nodes: readonly GraphNode[];
  readonly edges: readonly GraphEdge[];
  /** Nodes that were left out because there are too many. */
  readonly left: number;
}

/** More than a person sees at once. */
const MAX_NODES = 60;

export function nodeId(kind: string, name: string): string {
  return `${kind}/${name}`;
}

/** All relations between objects of one namespace, from owner to owned and from user to what is used. */
export function relationsOf(objects: readonly KubeObject[]): readonly GraphEdge[] {
  const pods = objects.filter((object): object is Pod => object.kind === 'Pod');
  return objects.flatMap((object) => [...ownerEdges(object), ...ownEdges(object, pods)]);
}

/**
 * What belongs to an object: all that it owns or uses, directly or not; all that owns or uses it; and what leads to the pods among these,
 * such as a Service. What others use, too, does not lead to them.
 */
export function graphAround(root: KubeObject, objects: readonly KubeObject[]): Graph {
  const edges = relationsOf([...objects.filter(({ metadata }) => metadata.uid !== root.metadata.uid), root]);
  const rootId = nodeId(root.kind, root.metadata.name ?? '');
  const forth = Map.groupBy(edges, ({ from }) => from);
  const back = Map.groupBy(edges, ({ to }) => to);
  const found = new Set([rootId]);
  follow(found, rootId, (id) => (forth.get(id) ?? []).map(({ to }) => to));
  for (const id of [...found].filter((known) => known === rootId || known.startsWith('Pod/')))
    follow(found, id, (at) => (back.get(at) ?? []).map(({ from }) => from));
  const kept = [...found].slice(0, MAX_NODES);
  const isKept = new Set(kept);
  const byId = new Map([...objects, root].map((object) => [nodeId(object.kind, object.metadata.name ?? ''), object]));
  return {
    nodes: kept.map((id) => {
      const slash = id.indexOf('/');
      return { id, kind: id.slice(0, slash), name: id.slice(slash + 1), object: byId.get(id) };
    }),
    edges: unique(edges.filter(({ from, to }) => isKept.has(from) && isKept.has(to))),
    left: found.size - kept.length,
  };
}

function follow(found: Set<string>, start: string, nextOf: (id: string) => readonly string[]): void {
  const queue = [start];
  const seen = new Set(queue);
  for (let id = queue.shift(); id !== undefined; id = queue.shift()) {
    for (const next of nextOf(id)) {
      if (seen.has(next)) continue;
      seen.add(next);
      found.add(next);
      queue.push(next);
    }
  }
}

function unique(edges: readonly GraphEdge[]): readonly GraphEdge[] {
  return [...new Map(edges.map((edge) => [`${edge.from} ${edge.to}`, edge])).values()];
}

function ownerEdges({ kind, metadata }: KubeObject): readonly GraphEdge[] {
  const to = nodeId(kind, metadata.name ?? '');
  return (
    (metadata.ownerReferences ?? [])
      // A Service owns its EndpointSlices, but that it leads to them says more.
      .filter((owner) => !(kind === 'EndpointSlice' && owner.kind === 'Service'))
      .map((owner) => ({ from: nodeId(owner.kind, owner.name), to, label: 'owns' }))
  );
}

function ownEdges(object: KubeObject, pods: readonly Pod[]): readonly GraphEdge[] {
  const id = nodeId(object.kind, object.metadata.name ?? '');
  const to = (kind: string, label: string) => (name: string | undefined) =>
    name === undefined || name === '' ? [] : [{ from: id, to: nodeId(kind, name), label }];
  switch (object.kind) {
    case 'Ingress':
      return ingressEdges(object, to);
    case 'EndpointSlice':
      return sliceEdges(object as EndpointSlice, id);
    case 'Service':
      return podEdges(object, id, pods);
    case 'Pod':
      return specEdges((object as Pod).spec, to);
    case 'PersistentVolumeClaim':
      return to('PersistentVolume', 'is bound to')((object as PersistentVolumeClaim).spec?.volumeName);
    case 'HorizontalPodAutoscaler': {
      const target = (object as HorizontalPodAutoscaler).spec?.scaleTargetRef;
      return target === undefined ? [] : to(target.kind, 'scales')(target.name);
    }
    case 'PodDisruptionBudget': {
      const selector = (object as PodDisruptionBudget).spec?.selector;
      return selector === undefined ? [] : selected(id, pods, labelSelectorFrom(selector), 'protects');
    }
    default:
      return [];
  }
}

type To = (kind: string, label: string) => (name: string | undefined) => readonly GraphEdge[];

function ingressEdges({ spec }: Ingress, to: To): readonly GraphEdge[] {
  const backends = [
    spec?.defaultBackend,
    ...(spec?.rules ?? []).flatMap(({ http }) => (http?.paths ?? []).map(({ backend }) => backend)),
  ];
  return [
    ...backends.flatMap((backend) => to('Service', 'routes to')(backend?.service?.name)),
    ...(spec?.tls ?? []).flatMap(({ secretName }) => to('Secret', 'uses')(secretName)),
  ];
}

function sliceEdges({ metadata, endpoints }: EndpointSlice, id: string): readonly GraphEdge[] {
  const service = metadata.labels?.[SERVICE_NAME_LABEL];
  const pods = (endpoints ?? []).flatMap(({ targetRef }) =>
    targetRef?.kind === 'Pod' ? [{ from: id, to: nodeId('Pod', targetRef.name ?? ''), label: 'leads to' }] : [],
  );
  return service === undefined ? pods : [{ from: nodeId('Service', service), to: id, label: 'has' }, ...pods];
}

/** Without endpoints a Service is shown with the pods that it selects: that they are not ready is what a person looks for. */
function podEdges({ spec }: Service, id: string, pods: readonly Pod[]): readonly GraphEdge[] {
  if (spec?.selector === undefined) return [];
  const unready = pods.filter(
    ({ status }) => !status?.conditions?.some(({ type, status: is }) => type === 'Ready' && is === 'True'),
  );
  return selected(id, unready, labelSelectorFrom({ matchLabels: spec.selector }), 'selects, not ready');
}

function selected(
  from: string,
  pods: readonly Pod[],
  selector: { matches(labels: Readonly<Record<string, string>> | undefined): boolean },
  label: string,
): readonly GraphEdge[] {
  return pods
    .filter(({ metadata }) => selector.matches(metadata.labels))
    .map(({ metadata }) => ({ from, to: nodeId('Pod', metadata.name ?? ''), label }));
}

/** What a pod uses: volumes, environment, credentials of images, its account. */
function specEdges(spec: PodSpec | undefined, to: To): readonly GraphEdge[] {
  const containers = [...(spec?.initContainers ?? []), ...(spec?.containers ?? [])];
  const volumes = (spec?.volumes ?? []).flatMap(({ configMap, secret, persistentVolumeClaim, projected }) => [
    ...to('ConfigMap', 'mounts')(configMap?.name),
    ...to('Secret', 'mounts')(secret?.secretName),
    ...to('PersistentVolumeClaim', 'mounts')(persistentVolumeClaim?.claimName),
    // Every pod has the cluster's certificates.
    ...(projected?.sources ?? []).flatMap((source) => [
      ...(source.configMap?.name === 'kube-root-ca.crt' ? [] : to('ConfigMap', 'mounts')(source.configMap?.name)),
      ...to('Secret', 'mounts')(source.secret?.name),
    ]),
  ]);
  const environment = containers.flatMap(({ env = [], envFrom = [] }) => [
    ...env.flatMap(({ valueFrom }) => [
      ...to('ConfigMap', 'reads')(valueFrom?.configMapKeyRef?.name),
      ...to('Secret', 'reads')(valueFrom?.secretKeyRef?.name),
    ]),
    ...envFrom.flatMap(({ configMapRef, secretRef }) => [
      ...to('ConfigMap', 'reads')(configMapRef?.name),
      ...to('Secret', 'reads')(secretRef?.name),
    ]),
  ]);
  const account = spec?.serviceAccountName === 'default' ? undefined : spec?.serviceAccountName;
  return [
    ...volumes,
    ...environment,
    ...(spec?.imagePullSecrets ?? []).flatMap(({ name }) => to('Secret', 'pulls with')(name)),
    ...to('ServiceAccount', 'acts as')(account),
  ];
}
