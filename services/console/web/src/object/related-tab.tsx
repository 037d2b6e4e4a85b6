import { controllerOf } from '@gantry/objects';
import type { KubeObject } from '@gantry/objects';
import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { Background, Controls, type Edge, Handle, type Node, type NodeProps, Position, ReactFlow } from '@xyflow/react';
import '@xyflow/react/dist/style.css';
import { type ReactNode, useMemo } from 'react';
import { allows } from '../api/access.ts';
import { collectionPath, type Kind } from '../api/kinds.ts';
import { layOut, NODE_HEIGHT, NODE_WIDTH } from '../graph/layout.ts';
import { type Graph, graphAround, type GraphNode } from '../graph/relations.ts';
import { useConsole, useRules } from '../shell/console-context.ts';
import { Busy, Failure } from '../shell/notices.tsx';
import type { TabProps } from './use-object.ts';

/** Kinds between which there are relations. Of Secrets and ConfigMaps only the metadata is read. */
const RELATED: readonly string[] = [
  'pods',
  'replicasets.apps',
  'deployments.apps',
  'statefulsets.apps',
  'daemonsets.apps',
  'jobs.batch',
  'cronjobs.batch',
  'services',
  'endpointslices.discovery.k8s.io',
  'ingresses.networking.k8s.io',
  'persistentvolumeclaims',
  'horizontalpodautoscalers.autoscaling',
  'poddisruptionbudgets.policy',
];
const METADATA_ONLY: readonly string[] = ['configmaps', 'secrets', 'serviceaccounts'];
const METADATA = 'application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io';
const REFRESH_MS = 5_000;

/** The objects of the namespace that may be related, and the kinds that the user may not list. */
function useNeighbours(kind: Kind, namespace: string) {
  const { api, kinds, at } = useConsole();
  const rules = useRules(namespace);
  const wanted = [...RELATED, ...METADATA_ONLY, ...(RELATED.includes(kind.id) ? [] : [kind.id])];
  const known = kinds.filter(({ id, isNamespaced }) => isNamespaced && wanted.includes(id));
  const listed = known.filter(({ group, resource }) => allows(rules, { verb: 'list', group, resource }));
  const query = useQuery({
    queryKey: ['neighbours', namespace, listed.map(({ id }) => id), at],
    enabled: namespace !== '' && rules.isLoading !== true,
    queryFn: async ({ signal }) => {
      const list = async (of: Kind): Promise<readonly KubeObject[]> => {
        const accept = METADATA_ONLY.includes(of.id) ? METADATA : 'application/json';
        const past = at === undefined ? '' : `?resourceVersion=${at}&resourceVersionMatch=Exact`;
        const { items } = await api.json<{ items: readonly KubeObject[] }>(`${collectionPath(of, namespace)}${past}`, {
          accept,
          signal,
        });
        return items.map((item) => ({ ...item, kind: of.kind }));
      };
      return (await Promise.all(listed.map(list))).flat();
    },
    refetchInterval: at === undefined ? REFRESH_MS : false,
  });
  return { ...query, hidden: known.filter((one) => !listed.includes(one)).map((one) => one.kind) };
}

/** What the object belongs to and what belongs to it, as a graph and as a list. */
export function RelatedTab({ kind, namespace, object }: TabProps): ReactNode {
  const { data, error, hidden } = useNeighbours(kind, namespace);
  const graph = useMemo(() => data && graphAround(object, data), [data, object]);
  if (namespace === '') return <p className="empty">Relations are shown for objects of namespaces.</p>;
  if (graph === undefined)
    return error ? <Failure error={error} what="related objects" /> : <Busy what="related objects" />;
  return (
    <>
      {hidden.length === 0 ? null : <p className="muted">Without {hidden.join(', ')}, which you may not list.</p>}
      {graph.left === 0 ? null : <p className="muted">{graph.left} more are not shown.</p>}
      <Picture graph={graph} namespace={namespace} own={kind} />
      <details>
        <summary>The same as a list</summary>
        <ul>
          {graph.edges.map(({ from, to, label }) => (
            <li key={`${from} ${to}`}>
              {from} {label} {to}
            </li>
          ))}
        </ul>
      </details>
    </>
  );
}

type ObjectNode = Node<{
  readonly node: GraphNode;
  readonly kindId: string | undefined;
  readonly namespace: string;
  readonly isOwn: boolean;
}>;

const NODE_TYPES = { object: ObjectBox };

interface PictureProps {
  readonly graph: Graph;
  readonly namespace: string;
  readonly own: Kind;
}

function Picture({ graph, namespace, own }: PictureProps): ReactNode {
  const { kinds } = useConsole();
  const { data: places, error } = usePlaces(graph);
  const nodes = useMemo(
    () =>
      graph.nodes.flatMap((node, index): ObjectNode[] => {
        // What has come since the graph was laid out has no place yet, and must not cover another node.
        const position = places?.get(node.id);
        if (position === undefined) return [];
        const kindId = (index === 0 ? own : kindOf(node, kinds))?.id;
        const data = { node, namespace, isOwn: index === 0, kindId };
        return [{ id: node.id, type: 'object', position, width: NODE_WIDTH, height: NODE_HEIGHT, data }];
      }),
    [graph, places, namespace, own, kinds],
  );
  const edges = useMemo(() => edgesOf(graph), [graph]);
  if (places === undefined) return error ? <Failure error={error} what="the graph" /> : <Busy what="the graph" />;
  return (
    <div className="graph">
      <ReactFlow
        key={[...places.keys()].join()}
        nodes={nodes}
        edges={edges}
        nodeTypes={NODE_TYPES}
        nodesDraggable={false}
        nodesConnectable={false}
        nodesFocusable={false}
        elementsSelectable={false}
        fitView
        fitViewOptions={{ maxZoom: 1, padding: 0.1 }}
        minZoom={0.2}
        aria-label="Graph of related objects"
      >
        <Background gap={24} />
        <Controls showInteractive={false} />
      </ReactFlow>
    </div>
  );
}

/** Edges of one node with the same label show it once. */
function edgesOf(graph: Graph): Edge[] {
  const labelled = new Set<string>();
  return graph.edges.map(({ from, to, label }): Edge => {
    const isFirst = !labelled.has(`${from} ${label}`);
    labelled.add(`${from} ${label}`);
    const edge = { id: `${from} ${to}`, source: from, target: to, selectable: false, focusable: false };
    return isFirst ? { ...edge, label } : edge;
  });
}

/** The places of a graph's nodes: laid out again only when nodes or edges come or go. */
function usePlaces(graph: Graph) {
  const shape = [graph.nodes.map(({ id }) => id), graph.edges.map(({ from, to }) => [from, to])];
  return useQuery({
    queryKey: ['places', shape],
    queryFn: ({ signal }) => layOut(graph, signal),
    staleTime: Number.POSITIVE_INFINITY,
    placeholderData: keepPreviousData,
  });
}

/** The kind of an object of the graph. Kinds of several groups share a name: the one that has relations is meant. */
function kindOf({ kind }: GraphNode, kinds: readonly Kind[]): Kind | undefined {
  const named = kinds.filter((known) => known.kind === kind);
  return named.find(({ id }) => RELATED.includes(id) || METADATA_ONLY.includes(id)) ?? named[0];
}

function ObjectBox({ data: { node, kindId, namespace, isOwn } }: NodeProps<ObjectNode>): ReactNode {
  const { kinds } = useConsole();
  const isNamespaced = kinds.find(({ id }) => id === kindId)?.isNamespaced !== false;
  const tone = toneOfObject(node.object);
  const content = (
    <>
      <span className="muted">{node.kind}</span>
      <span className="graph-name" data-tone={tone} title={node.name}>
        {node.name}
      </span>
    </>
  );
  return (
    <div className="graph-node" data-own={isOwn}>
      <Handle type="target" position={Position.Left} isConnectable={false} />
      {kindId === undefined ? (
        content
      ) : (
        <Link
          to="/objects/$kind/$namespace/$name"
          params={{ kind: kindId, namespace: isNamespaced ? namespace : '-', name: node.name }}
          search={{ tab: 'related' }}
        >
          {content}
        </Link>
      )}
      <Handle type="source" position={Position.Right} isConnectable={false} />
    </div>
  );
}

/** Whether an object is as it should be, where that can be said. */
function toneOfObject(object: KubeObject | undefined): 'good' | 'waiting' | 'none' {
  if (object === undefined) return 'none';
  const { status, spec } = object as { status?: Record<string, unknown>; spec?: Record<string, unknown> };
  if (object.kind === 'Pod') {
    const conditions = (status?.['conditions'] ?? []) as readonly { type: string; status: string }[];
    const isReady = conditions.some(({ type, status: is }) => type === 'Ready' && is === 'True');
    return isReady || status?.['phase'] === 'Succeeded' ? 'good' : 'waiting';
  }
  if (
    typeof spec?.['replicas'] !== 'number' ||
    (controllerOf(object) === undefined && status?.['readyReplicas'] === undefined)
  )
    return 'none';
  return status?.['readyReplicas'] === spec['replicas'] || spec['replicas'] === 0 ? 'good' : 'waiting';
}
