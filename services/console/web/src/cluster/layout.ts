import type { NodeLoad, NodeMark, PodMark } from './inventory.ts';

export interface Box {
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
}

export interface NodeBox extends Box {
  readonly load: NodeLoad;
}

/** A host with its nodes. */
export interface HostBox extends Box {
  readonly name: string;
  readonly address: string;
}

export interface PodBox {
  readonly pod: PodMark;
  readonly x: number;
  readonly y: number;
}

/** Where everything is in the picture, in pixels. */
export interface PictureLayout {
  readonly width: number;
  readonly height: number;
  /** The side of a pod's square. */
  readonly podPx: number;
  readonly hosts: readonly HostBox[];
  readonly nodes: readonly NodeBox[];
  readonly pods: readonly PodBox[];
  /** Where pods without a node wait; absent when there are none. */
  readonly waiting: Box | undefined;
}

/** The sides of a pod's square that are tried, the largest first. */
const POD_SIZES = [16, 13, 10, 8, 6, 4] as const;
export const GAP = 2;
const PADDING = 8;
const NODE_GAP = 10;
/** Of the node's name and its bars. */
const HEAD = 30;
const MIN_NODE_WIDTH = 96;
/** Of the host's name. */
const HOST_HEAD = 22;
const HOST_PADDING = 8;

interface Grid {
  readonly podPx: number;
  readonly perRow: number;
  readonly boxWidth: number;
  readonly boxHeight: number;
  readonly waitingHeight: number;
  readonly hosts: readonly HostBox[];
  /** The place of each node, in their order. */
  readonly places: readonly { readonly x: number; readonly y: number }[];
  readonly height: number;
}

/**
 * Hosts as frames around their nodes, and nodes as boxes of the same size with their pods as squares; above them the pods without a node. The
 * squares are as large as possible for the height that is there, and then the picture is as high as it must be.
 */
export function layOut(
  loads: readonly NodeLoad[],
  unplaced: readonly PodMark[],
  width: number,
  height: number,
): PictureLayout {
  const groups = [...Map.groupBy(loads, ({ node }) => node.host).values()];
  const most = Math.max(4, ...loads.map(({ pods }) => pods.length));
  const grids = POD_SIZES.map((podPx) => gridOf(podPx, { most, groups, unplaced: unplaced.length, width }));
  const grid = grids.find((one) => one.height <= height) ?? grids.at(-1);
  if (grid === undefined || width === 0)
    return { width, height: 0, podPx: 0, hosts: [], nodes: [], pods: [], waiting: undefined };
  const pods: PodBox[] = [];
  const step = grid.podPx + GAP;
  const waiting = unplaced.length === 0 ? undefined : { x: 0, y: 0, width, height: grid.waitingHeight };
  const waitingPerRow = Math.max(1, Math.floor((width - 2 * PADDING) / step));
  for (const [index, pod] of unplaced.entries())
    pods.push({
      pod,
      x: PADDING + (index % waitingPerRow) * step,
      y: HEAD - PADDING + Math.floor(index / waitingPerRow) * step,
    });
  const nodes = groups.flat().map((load, index): NodeBox => {
    const { x, y } = grid.places[index] ?? { x: 0, y: 0 };
    for (const [place, pod] of load.pods.entries())
      pods.push({
        pod,
        x: x + PADDING + (place % grid.perRow) * step,
        y: y + HEAD + PADDING / 2 + Math.floor(place / grid.perRow) * step,
      });
    return { load, x, y, width: grid.boxWidth, height: grid.boxHeight };
  });
  return { width, height: grid.height, podPx: grid.podPx, hosts: grid.hosts, nodes, pods, waiting };
}

interface Counts {
  readonly most: number;
  /** The nodes of each host. */
  readonly groups: readonly (readonly NodeLoad[])[];
  readonly unplaced: number;
  readonly width: number;
}

function gridOf(podPx: number, { most, groups, unplaced, width }: Counts): Grid {
  const step = podPx + GAP;
  const perRow = Math.max(Math.ceil(Math.sqrt(most * 1.6)), Math.floor((MIN_NODE_WIDTH - 2 * PADDING) / step));
  const widest = width - 2 * HOST_PADDING;
  const boxWidth = Math.min(widest, Math.max(MIN_NODE_WIDTH, perRow * step - GAP + 2 * PADDING));
  const fitting = Math.max(1, Math.floor((boxWidth - 2 * PADDING + GAP) / step));
  const boxHeight = HEAD + Math.ceil(most / fitting) * step - GAP + 1.5 * PADDING;
  const waitingRows = Math.ceil(unplaced / Math.max(1, Math.floor((width - 2 * PADDING) / step)));
  const waitingHeight = unplaced === 0 ? 0 : HEAD + waitingRows * step;
  const top = waitingHeight > 0 && groups.length > 0 ? waitingHeight + NODE_GAP : waitingHeight;
  const size = { podPx, perRow: fitting, boxWidth, boxHeight, waitingHeight };
  return { ...size, ...placeHosts(groups, { boxWidth, boxHeight, width, top }) };
}

interface Room {
  readonly boxWidth: number;
  readonly boxHeight: number;
  readonly width: number;
  /** Where the first host begins. */
  readonly top: number;
}

/** Hosts from left to right, in lines; each is as wide as its nodes, or as the picture. Nodes without a host have no frame. */
function placeHosts(
  groups: readonly (readonly NodeLoad[])[],
  { boxWidth, boxHeight, width, top }: Room,
): Pick<Grid, 'hosts' | 'places' | 'height'> {
  const hosts: HostBox[] = [];
  const places: { x: number; y: number }[] = [];
  let [left, line, bottom] = [0, top, top];
  for (const group of groups) {
    const { host: name = '', hostAddress: address = '' } = group[0]?.node ?? {};
    const [padding, head] = name === '' ? [0, 0] : [HOST_PADDING, HOST_HEAD];
    const most = Math.max(1, Math.floor((width - 2 * padding + NODE_GAP) / (boxWidth + NODE_GAP)));
    const perLine = Math.min(group.length, most);
    const wide = perLine * (boxWidth + NODE_GAP) - NODE_GAP + 2 * padding;
    const high = Math.ceil(group.length / perLine) * (boxHeight + NODE_GAP) - NODE_GAP + head + padding;
    if (left > 0 && left + wide > width) [left, line] = [0, bottom + NODE_GAP];
    for (let index = 0; index < group.length; index++)
      places.push({
        x: left + padding + (index % perLine) * (boxWidth + NODE_GAP),
        y: line + head + Math.floor(index / perLine) * (boxHeight + NODE_GAP),
      });
    if (name !== '') hosts.push({ name, address, x: left, y: line, width: wide, height: high });
    left += wide + NODE_GAP;
    bottom = Math.max(bottom, line + high);
  }
  return { hosts, places, height: bottom };
}

/** The node whose box is at a point. */
export function nodeAt({ nodes }: PictureLayout, x: number, y: number): NodeMark | undefined {
  return nodes.find((box) => x >= box.x && x < box.x + box.width && y >= box.y && y < box.y + box.height)?.load.node;
}
