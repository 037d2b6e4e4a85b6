import { type Amounts, parseAmounts } from '@gantry/objects';
import { useQuery } from '@tanstack/react-query';
import { Link, useNavigate, useSearch } from '@tanstack/react-router';
import { type MouseEvent, type ReactNode, useEffect, useMemo, useRef, useState } from 'react';
import { collectionPath } from '../api/kinds.ts';
import { quote } from '../objects/kubectl.ts';
import { useConsole, useKind, useLive } from '../shell/console-context.ts';
import { Failure, Kubectl } from '../shell/notices.tsx';
import { objectFormat } from '../watch/formats.ts';
import {
  fullness,
  type NodeLoad,
  loadsOf,
  nodeMark,
  POD_STATES,
  podMark,
  type PodMark,
  unreadyPods,
} from './inventory.ts';
import { layOut, nodeAt, type PictureLayout } from './layout.ts';
import { type Palette, Scene } from './scene.ts';
import { Table } from '../shell/table.tsx';

const NODES = objectFormat(nodeMark);
const PODS = objectFormat(podMark);
/** Rows of a table: the fullest nodes, the worst pods. */
const LISTED = 25;

/** Nodes and pods as a picture that lives. */
export function ClusterPage(): ReactNode {
  const { ns = '' } = useSearch({ from: '__root__' });
  const podKind = useKind('pods');
  const nodes = useLive({ path: '/api/v1/nodes', format: NODES });
  const pods = useLive({ path: podKind === undefined ? '/api/v1/pods' : collectionPath(podKind, ns), format: PODS });
  const { loads, unplaced } = useMemo(() => loadsOf(nodes.rows.values(), pods.rows.values()), [nodes, pods]);
  const unready = useMemo(() => unreadyPods(pods.rows.values()), [pods]);
  useEffect(() => {
    document.title = 'Cluster · Gantry';
  }, []);
  const scope = ns === '' ? '-A' : `-n ${quote(ns)}`;
  return (
    <div className="page">
      <div className="heading">
        <h1>Cluster</h1>
        <Summary loads={loads} pods={pods.rows} />
        <Kubectl command={`kubectl get pods ${scope} -o wide --watch`} />
      </div>
      {nodes.error === undefined || nodes.rows.size > 0 ? null : <Failure error={nodes.error} what="nodes" />}
      {pods.error === undefined || pods.rows.size > 0 ? null : <Failure error={pods.error} what="pods" />}
      {nodes.phase === 'broken' && nodes.rows.size > 0 ? (
        <p className="notice waiting" role="status">
          The connection is lost; trying again. {nodes.error?.message}
        </p>
      ) : null}
      <Picture loads={loads} unplaced={unplaced} isComplete={nodes.phase !== 'listing' && pods.phase !== 'listing'} />
      <Legend />
      <FullestNodes loads={loads} namespace={ns} />
      <UnreadyPods pods={unready} />
    </div>
  );
}

interface SummaryProps {
  readonly loads: readonly NodeLoad[];
  readonly pods: ReadonlyMap<string, PodMark>;
}

function Summary({ loads, pods }: SummaryProps): ReactNode {
  const states = new Map<string, number>();
  for (const { state } of pods.values()) states.set(state, (states.get(state) ?? 0) + 1);
  const parts = POD_STATES.filter((state) => states.has(state)).map((state) => `${states.get(state) ?? 0} ${state}`);
  const ready = loads.filter(({ node }) => node.isReady).length;
  return (
    <span className="live" data-phase="live" role="status">
      {ready} of {loads.length} nodes ready · {pods.size} pods{parts.length === 0 ? '' : `: ${parts.join(', ')}`}
    </span>
  );
}

function Legend(): ReactNode {
  return (
    <ul className="legend" aria-label="States of pods">
      {POD_STATES.map((state) => (
        <li key={state} data-state={state}>
          {state}
        </li>
      ))}
      <li className="muted">Bars: requested CPU and memory</li>
    </ul>
  );
}

interface PictureProps {
  readonly loads: readonly NodeLoad[];
  readonly unplaced: readonly PodMark[];
  readonly isComplete: boolean;
}

function Picture({ loads, unplaced, isComplete }: PictureProps): ReactNode {
  const { clock } = useConsole();
  const navigate = useNavigate();
  const frame = useRef<HTMLDivElement>(null);
  const canvas = useRef<HTMLCanvasElement>(null);
  const [scene] = useState(() => new Scene());
  const [size, setSize] = useState({ width: 0, height: 0 });
  const [hovered, setHovered] = useState('');
  useEffect(() => {
    const element = frame.current;
    if (element === null) return undefined;
    const measure = () => setSize({ width: element.clientWidth, height: Math.max(240, innerHeight - 320) });
    const observer = new ResizeObserver(measure);
    observer.observe(element);
    return () => observer.disconnect();
  }, []);
  const layout = useMemo(() => layOut(loads, unplaced, size.width, size.height), [loads, unplaced, size]);
  useEffect(() => {
    const isMoving = isComplete && !matchMedia('(prefers-reduced-motion: reduce)').matches;
    scene.update(layout, clock.monotonicMs(), isMoving);
    return animate(canvas.current, scene, layout, () => clock.monotonicMs());
  }, [layout, scene, clock, isComplete]);
  const at = ({ nativeEvent: { offsetX, offsetY } }: MouseEvent) => {
    const pod = scene.podAt(offsetX, offsetY, clock.monotonicMs());
    return { pod, node: pod === undefined ? nodeAt(layout, offsetX, offsetY) : undefined };
  };
  // Pods move: what is opened is what was there when the button went down.
  const pressed = useRef<ReturnType<typeof at>>(undefined);
  const onClick = () => {
    const { pod, node } = pressed.current ?? {};
    const params =
      pod === undefined
        ? { kind: 'nodes', namespace: '-', name: node?.name ?? '' }
        : { kind: 'pods', namespace: pod.namespace, name: pod.name };
    if (params.name !== '') void navigate({ to: '/objects/$kind/$namespace/$name', params });
  };
  const onMouseMove = (event: MouseEvent) => {
    const { pod, node } = at(event);
    setHovered(pod === undefined ? (node?.name ?? '') : `${pod.namespace}/${pod.name}: ${pod.state}`);
  };
  return (
    <div ref={frame} className="picture">
      <canvas
        ref={canvas}
        role="img"
        aria-label={`${layout.hosts.length === 0 ? '' : `${layout.hosts.length} hosts, `}${loads.length} nodes with ${layout.pods.length} pods; the table below says the same`}
        title={hovered}
        onMouseDown={(event) => void (pressed.current = at(event))}
        onClick={onClick}
        onMouseMove={onMouseMove}
      />
    </div>
  );
}

/** Draws until nothing moves. Returns the end of it. */
function animate(
  canvas: HTMLCanvasElement | null,
  scene: Scene,
  { width, height }: PictureLayout,
  now: () => number,
): () => void {
  const context = canvas?.getContext('2d');
  if (!canvas || !context || width === 0) return () => {};
  const ratio = devicePixelRatio;
  if (canvas.width !== Math.round(width * ratio) || canvas.height !== Math.round(height * ratio)) {
    canvas.width = Math.round(width * ratio);
    canvas.height = Math.round(height * ratio);
    canvas.style.width = `${width}px`;
    canvas.style.height = `${height}px`;
  }
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  let request = 0;
  const step = () => {
    const { top } = canvas.getBoundingClientRect();
    const frame = { palette: paletteOf(canvas), top: Math.max(0, -top), bottom: Math.min(height, innerHeight - top) };
    request = scene.draw(context, now(), frame) ? requestAnimationFrame(step) : 0;
  };
  // The colours are those of the theme, and what is seen changes when the page is scrolled.
  const again = () => {
    if (request === 0) request = requestAnimationFrame(step);
  };
  step();
  const theme = new MutationObserver(again);
  theme.observe(document.documentElement, { attributeFilter: ['data-theme'] });
  addEventListener('scroll', again, { capture: true, passive: true });
  addEventListener('resize', again);
  return () => {
    cancelAnimationFrame(request);
    theme.disconnect();
    removeEventListener('scroll', again, { capture: true });
    removeEventListener('resize', again);
  };
}

/** The custom properties of the page as colours: a canvas does not understand `light-dark()`. */
function paletteOf(element: HTMLElement): Palette {
  const style = getComputedStyle(element);
  const isDark =
    style.colorScheme.includes('dark') &&
    (!style.colorScheme.includes('light') || matchMedia('(prefers-color-scheme: dark)').matches);
  const colour = (name: string) => {
    const value = style.getPropertyValue(name).trim();
    const parts = /^light-dark\(\s*([^,]+),\s*([^)]+)\)$/.exec(value);
    return parts === null ? value : ((isDark ? parts[2] : parts[1]) ?? value);
  };
  return {
    text: colour('--text'),
    muted: colour('--muted'),
    line: colour('--line'),
    surface: colour('--surface'),
    raised: colour('--raised'),
    accent: colour('--accent'),
    good: colour('--good'),
    waiting: colour('--waiting'),
    bad: colour('--bad'),
    font: style.fontFamily,
  };
}

interface NodeMetrics {
  readonly metadata: { readonly name?: string };
  readonly usage?: Readonly<Record<string, string>>;
}

const USAGE_MS = 15_000;
const NO_USAGE: ReadonlyMap<string, Amounts> = new Map();

/** What the nodes use now, by name; empty where nobody measures it, or the user may not see it. */
function useUsage(): ReadonlyMap<string, Amounts> {
  const { api, at } = useConsole();
  const kind = useKind('nodes.metrics.k8s.io');
  const { data } = useQuery({
    queryKey: ['usage'],
    enabled: kind !== undefined && at === undefined,
    queryFn: async ({ signal }) => {
      const { items } = await api.json<{ items: readonly NodeMetrics[] }>('/apis/metrics.k8s.io/v1beta1/nodes', {
        signal,
      });
      return new Map(items.map(({ metadata, usage }) => [metadata.name ?? '', parseAmounts(usage)]));
    },
    refetchInterval: USAGE_MS,
    retry: false,
  });
  return data ?? NO_USAGE;
}

interface FullestProps {
  readonly loads: readonly NodeLoad[];
  /** Whose pods were counted; '' is all. */
  readonly namespace: string;
}

/** What the picture shows, as a table: the fullest nodes first. */
function FullestNodes({ loads, namespace }: FullestProps): ReactNode {
  const usage = useUsage();
  const used = ({ node }: NodeLoad, name: 'cpu' | 'memory') => {
    const amount = usage.get(node.name)?.[name];
    return amount === undefined ? undefined : amount / Math.max(1, node.allocatable[name] ?? 0);
  };
  const fullest = useMemo(() => loads.toSorted((a, b) => fullness(b) - fullness(a)).slice(0, LISTED), [loads]);
  if (fullest.length === 0) return null;
  return (
    <section>
      <h2>{loads.length > LISTED ? `The ${LISTED} fullest nodes` : 'Nodes, the fullest first'}</h2>
      <Kubectl command="kubectl describe nodes" />
      {namespace === '' ? null : (
        <p className="notice waiting">
          Only the pods of <code>{namespace}</code> are counted. Nodes may be full of others: show all namespaces.
        </p>
      )}
      <Table
        label="The fullest nodes"
        of={['Node', 'Host', 'State', 'Pods', 'CPU requested', 'CPU used', 'Memory requested', 'Memory used']}
      >
        {fullest.map((load) => {
          const { node, cpu, memory, podCount } = load;
          return (
            <tr key={node.uid}>
              <th scope="row">
                <Link to="/objects/$kind/$namespace/$name" params={{ kind: 'nodes', namespace: '-', name: node.name }}>
                  {node.name}
                </Link>
              </th>
              <td>{node.host}</td>
              <td data-tone={node.isReady ? (node.isCordoned ? 'waiting' : 'good') : 'bad'}>
                {node.isReady ? (node.isCordoned ? 'cordoned' : 'ready') : 'not ready'}
              </td>
              <td>
                {podCount} <span className="muted">of {node.allocatable['pods'] ?? 'unknown'}</span>
              </td>
              <td>
                <Share value={cpu} />
              </td>
              <td>
                <Share value={used(load, 'cpu')} />
              </td>
              <td>
                <Share value={memory} />
              </td>
              <td>
                <Share value={used(load, 'memory')} />
              </td>
            </tr>
          );
        })}
      </Table>
    </section>
  );
}

/** The way from a pod that does not run to the reason. */
function UnreadyPods({ pods }: { readonly pods: readonly PodMark[] }): ReactNode {
  if (pods.length === 0) return null;
  return (
    <section>
      <h2>Pods that are not ready</h2>
      <Table label="Pods that are not ready" of={['Pod', 'State', 'Reason', 'Node']}>
        {pods.slice(0, LISTED).map(({ uid, namespace, name, state, reason, node }) => (
          <tr key={uid}>
            <th scope="row">
              <Link
                to="/objects/$kind/$namespace/$name"
                params={{ kind: 'pods', namespace, name }}
                search={{ tab: 'why' }}
              >
                {namespace}/{name}
              </Link>
            </th>
            <td data-tone={state === 'failing' ? 'bad' : 'waiting'}>{state}</td>
            <td>{reason}</td>
            <td>{node}</td>
          </tr>
        ))}
      </Table>
      {pods.length > LISTED ? <p className="muted">and {pods.length - LISTED} more</p> : null}
    </section>
  );
}

function Share({ value }: { readonly value: number | undefined }): ReactNode {
  if (value === undefined) return <span className="muted">unknown</span>;
  return (
    <span className="share">
      <meter min={0} max={1} low={0.7} high={0.9} optimum={0} value={Math.min(1, value)} aria-hidden="true" />{' '}
      {Math.round(value * 100)} %
    </span>
  );
}
