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
  readonly nodes: readonly NodeBox[];
  readonly pods: readonly PodBox[];
  /** Where pods without a node wait; absent when there are none. */
  readonly waiting: Box | undefined;
}

/** The sides of a pod's square that are tried, the largest first. */
const POD_SIZES = [16, 13, 10, 8, 6, 4] as const;
const GAP = 2;
const PADDING = 8;
const NODE_GAP = 10;
/** Of the node's name and its bars. */
const HEAD = 30;
const MIN_NODE_WIDTH = 96;

interface Grid {
  readonly podPx: number;
  readonly perRow: number;
  readonly boxWidth: number;
  readonly boxHeight: number;
  readonly perLine: number;
  readonly height: number;
  readonly waitingHeight: number;
}

/**
 * Nodes as boxes of the same size in lines, with their pods as squares; above them the pods without a node. The squares are as large as
 * possible for the height that is there, and then the picture is as high as it must be.
 */
export function layOut(
  loads: readonly NodeLoad[],
  unplaced: readonly PodMark[],
  width: number,
  height: number,
): PictureLayout {
  const most = Math.max(4, ...loads.map(({ pods }) => pods.length));
  const grids = POD_SIZES.map((podPx) =>
    gridOf(podPx, { most, nodes: loads.length, unplaced: unplaced.length, width }),
  );
  const grid = grids.find((one) => one.height <= height) ?? grids.at(-1);
  if (grid === undefined) return { width, height: 0, podPx: 0, nodes: [], pods: [], waiting: undefined };
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
  const top = waiting === undefined ? 0 : waiting.height + NODE_GAP;
  const nodes = loads.map((load, index): NodeBox => {
    const x = (index % grid.perLine) * (grid.boxWidth + NODE_GAP);
    const y = top + Math.floor(index / grid.perLine) * (grid.boxHeight + NODE_GAP);
    for (const [place, pod] of load.pods.entries())
      pods.push({
        pod,
        x: x + PADDING + (place % grid.perRow) * step,
        y: y + HEAD + PADDING / 2 + Math.floor(place / grid.perRow) * step,
      });
    return { load, x, y, width: grid.boxWidth, height: grid.boxHeight };
  });
  return { width, height: grid.height, podPx: grid.podPx, nodes, pods, waiting };
}

interface Counts {
  readonly most: number;
  readonly nodes: number;
  readonly unplaced: number;
  readonly width: number;
}

function gridOf(podPx: number, { most, nodes, unplaced, width }: Counts): Grid {
  const step = podPx + GAP;
  const perRow = Math.max(Math.ceil(Math.sqrt(most * 1.6)), Math.floor((MIN_NODE_WIDTH - 2 * PADDING) / step));
  const boxWidth = Math.min(width, Math.max(MIN_NODE_WIDTH, perRow * step - GAP + 2 * PADDING));
  const fitting = Math.max(1, Math.floor((boxWidth - 2 * PADDING + GAP) / step));
  const boxHeight = HEAD + Math.ceil(most / fitting) * step - GAP + 1.5 * PADDING;
  const perLine = Math.max(1, Math.floor((width + NODE_GAP) / (boxWidth + NODE_GAP)));
  const waitingRows = Math.ceil(unplaced / Math.max(1, Math.floor((width - 2 * PADDING) / step)));
  const waitingHeight = unplaced === 0 ? 0 : HEAD + waitingRows * step;
  const lines = Math.ceil(nodes / perLine);
  const nodesHeight = lines * (boxHeight + NODE_GAP) - (lines > 0 ? NODE_GAP : 0);
  const height = waitingHeight + (waitingHeight > 0 && lines > 0 ? NODE_GAP : 0) + nodesHeight;
  return { podPx, perRow: fitting, boxWidth, boxHeight, perLine, height, waitingHeight };
}

/** What is at a point: a pod, else a node. */
export function findAt(
  { pods, nodes, podPx }: PictureLayout,
  x: number,
  y: number,
): { readonly pod?: PodMark; readonly node?: NodeMark } {
  const pod = pods.find((box) => x >= box.x && x < box.x + podPx + GAP && y >= box.y && y < box.y + podPx + GAP);
  if (pod !== undefined) return { pod: pod.pod };
  const node = nodes.find((box) => x >= box.x && x < box.x + box.width && y >= box.y && y < box.y + box.height);
  return node === undefined ? {} : { node: node.load.node };
}
