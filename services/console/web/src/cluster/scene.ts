import type { PodMark, PodState } from './inventory.ts';
import { GAP, type PictureLayout } from './layout.ts';

/** The colours of the page, as a canvas needs them. */
export interface Palette {
  readonly text: string;
  readonly muted: string;
  readonly line: string;
  readonly surface: string;
  readonly raised: string;
  readonly accent: string;
  readonly good: string;
  readonly waiting: string;
  readonly bad: string;
  readonly font: string;
}

/** What of the picture is drawn, in its pixels from above. */
interface Frame {
  readonly palette: Palette;
  readonly top: number;
  readonly bottom: number;
}

interface Sprite {
  fromX: number;
  fromY: number;
  toX: number;
  toY: number;
  fromAlpha: number;
  toAlpha: number;
  /** When the movement began, and when the state last changed. */
  movedAt: number;
  changedAt: number;
  pod: PodMark;
}

const MOVE_MS = 600;
const FLASH_MS = 900;

/** The picture in time: pods appear, move to their node, change their state, and go. */
export class Scene {
  readonly #sprites = new Map<string, Sprite>();
  #layout: PictureLayout | undefined;
  #isFirst = true;

  /** A new picture. Without `isMoving` everything is at its place at once. */
  update(layout: PictureLayout, now: number, isMoving: boolean): void {
    const jumps =
      !isMoving || this.#isFirst || this.#layout?.width !== layout.width || this.#layout.podPx !== layout.podPx;
    const present = new Set<string>();
    for (const { pod, x, y } of layout.pods) {
      present.add(pod.uid);
      const sprite = this.#sprites.get(pod.uid);
      if (sprite === undefined) this.#sprites.set(pod.uid, appear(x, y, pod, jumps ? 0 : now));
      else move(sprite, x, y, pod, now, jumps);
    }
    for (const [uid, sprite] of this.#sprites) {
      if (present.has(uid) || sprite.toAlpha === 0) continue;
      if (jumps) this.#sprites.delete(uid);
      else Object.assign(sprite, { ...placeOf(sprite, now), toAlpha: 0, movedAt: now });
    }
    this.#layout = layout;
    this.#isFirst = false;
  }

  /** The pod whose square is drawn at a point: it may be on its way to where the layout has it. */
  podAt(x: number, y: number, now: number): PodMark | undefined {
    const size = (this.#layout?.podPx ?? 0) + GAP;
    let found: PodMark | undefined;
    for (const sprite of this.#sprites.values()) {
      const { fromX: left, fromY: top } = placeOf(sprite, now);
      if (sprite.toAlpha > 0 && x >= left && x < left + size && y >= top && y < top + size) found = sprite.pod;
    }
    // Those that are drawn later are on top.
    return found;
  }

  /** Draws what a person sees of the picture: a thousand nodes are many screens high. Whether something still moves. */
  draw(context: CanvasRenderingContext2D, now: number, { palette, top, bottom }: Frame): boolean {
    const layout = this.#layout;
    if (layout === undefined) return false;
    const isSeen = (y: number, height: number) => y + height >= top && y <= bottom;
    context.clearRect(0, top, layout.width, bottom - top);
    drawBoxes(
      context,
      {
        ...layout,
        hosts: layout.hosts.filter(({ y, height }) => isSeen(y, height)),
        nodes: layout.nodes.filter(({ y, height }) => isSeen(y, height)),
      },
      palette,
    );
    let isMoving = false;
    for (const [uid, sprite] of this.#sprites) {
      const { fromX: x, fromY: y, fromAlpha: alpha, share } = placeOf(sprite, now);
      if (share < 1 || now - sprite.changedAt < FLASH_MS) isMoving = true;
      else if (sprite.toAlpha === 0) {
        this.#sprites.delete(uid);
        continue;
      }
      if (!isSeen(y, layout.podPx)) continue;
      context.globalAlpha = alpha;
      drawPod(context, { x, y, size: layout.podPx, state: sprite.pod.state }, palette);
      const flash = 1 - (now - sprite.changedAt) / FLASH_MS;
      if (flash > 0) {
        context.globalAlpha = flash;
        context.strokeStyle = palette.text;
        context.lineWidth = 1.5;
        context.strokeRect(x - 1, y - 1, layout.podPx + 2, layout.podPx + 2);
      }
    }
    context.globalAlpha = 1;
    return isMoving;
  }
}

function appear(x: number, y: number, pod: PodMark, now: number): Sprite {
  const changedAt = now === 0 ? Number.NEGATIVE_INFINITY : now;
  return { fromX: x, fromY: y, toX: x, toY: y, fromAlpha: 0, toAlpha: 1, movedAt: changedAt, changedAt, pod };
}

function move(sprite: Sprite, x: number, y: number, pod: PodMark, now: number, jumps: boolean): void {
  if (sprite.toX !== x || sprite.toY !== y || sprite.toAlpha === 0) {
    const { fromX, fromY, fromAlpha } = placeOf(sprite, now);
    Object.assign(sprite, {
      fromX,
      fromY,
      fromAlpha,
      toX: x,
      toY: y,
      toAlpha: 1,
      movedAt: jumps ? Number.NEGATIVE_INFINITY : now,
    });
  }
  if (sprite.pod.state !== pod.state && !jumps) sprite.changedAt = now;
  sprite.pod = pod;
}

/** Where a sprite is now; `share` is how much of its way it has gone. */
function placeOf(sprite: Sprite, now: number): { fromX: number; fromY: number; fromAlpha: number; share: number } {
  const share = Math.min(1, Math.max(0, (now - sprite.movedAt) / MOVE_MS));
  const eased = 1 - (1 - share) ** 3;
  const between = (from: number, to: number) => from + (to - from) * eased;
  return {
    fromX: between(sprite.fromX, sprite.toX),
    fromY: between(sprite.fromY, sprite.toY),
    fromAlpha: between(sprite.fromAlpha, sprite.toAlpha),
    share,
  };
}

function drawBoxes(
  context: CanvasRenderingContext2D,
  { hosts, nodes, waiting }: PictureLayout,
  palette: Palette,
): void {
  context.font = `500 11px ${palette.font}`;
  context.textBaseline = 'middle';
  if (waiting !== undefined) {
    context.fillStyle = palette.muted;
    context.fillText('No node yet', 8, 11);
    context.strokeStyle = palette.waiting;
    context.setLineDash([4, 4]);
    context.strokeRect(waiting.x + 0.5, waiting.y + 0.5, waiting.width - 1, waiting.height - 1);
    context.setLineDash([]);
  }
  context.lineWidth = 1;
  for (const { name, address, x, y, width, height } of hosts) {
    context.fillStyle = palette.raised;
    context.strokeStyle = palette.line;
    context.beginPath();
    context.roundRect(x + 0.5, y + 0.5, width - 1, height - 1, 7);
    context.fill();
    context.stroke();
    context.fillStyle = palette.muted;
    context.fillText(address === '' ? name : `${name} ${address}`, x + 8, y + 12, width - 16);
  }
  for (const { x, y, width, height, load } of nodes) {
    const { node, cpu, memory } = load;
    context.fillStyle = palette.surface;
    context.strokeStyle = node.isReady ? palette.line : palette.bad;
    context.lineWidth = node.isReady ? 1 : 2;
    context.beginPath();
    context.roundRect(x + 0.5, y + 0.5, width - 1, height - 1, 5);
    context.fill();
    context.stroke();
    context.fillStyle = node.isReady ? palette.text : palette.bad;
    const note = node.isReady ? (node.isCordoned ? ' (cordoned)' : '') : ' (not ready)';
    context.fillText(`${node.name}${note}`, x + 8, y + 12, width - 16);
    drawBar(context, x + 8, y + 21, width - 16, cpu, palette);
    drawBar(context, x + 8, y + 26, width - 16, memory, palette);
  }
}

function drawBar(
  context: CanvasRenderingContext2D,
  x: number,
  y: number,
  width: number,
  share: number,
  palette: Palette,
): void {
  context.fillStyle = palette.raised;
  context.fillRect(x, y, width, 3);
  context.fillStyle = share > 0.9 ? palette.bad : share > 0.7 ? palette.waiting : palette.accent;
  context.fillRect(x, y, width * Math.min(1, share), 3);
}

interface Drawn {
  readonly x: number;
  readonly y: number;
  readonly size: number;
  readonly state: PodState;
}

/** States differ by form, too: full, hollow, a cross, a dot. */
function drawPod(context: CanvasRenderingContext2D, { x, y, size, state }: Drawn, palette: Palette): void {
  switch (state) {
    case 'ready':
      context.fillStyle = palette.good;
      context.fillRect(x, y, size, size);
      return;
    case 'failing':
      context.fillStyle = palette.bad;
      context.fillRect(x, y, size, size);
      context.strokeStyle = palette.surface;
      context.lineWidth = Math.max(1, size / 8);
      context.beginPath();
      context.moveTo(x + size * 0.25, y + size * 0.25);
      context.lineTo(x + size * 0.75, y + size * 0.75);
      context.moveTo(x + size * 0.75, y + size * 0.25);
      context.lineTo(x + size * 0.25, y + size * 0.75);
      context.stroke();
      return;
    case 'waiting':
    case 'starting': {
      context.strokeStyle = palette.waiting;
      context.lineWidth = Math.max(1, size / 6);
      const inset = context.lineWidth / 2;
      context.strokeRect(x + inset, y + inset, size - 2 * inset, size - 2 * inset);
      if (state === 'starting') {
        context.fillStyle = palette.waiting;
        context.fillRect(x + size * 0.3, y + size * 0.3, size * 0.4, size * 0.4);
      }
      return;
    }
    case 'ending':
    case 'ended':
      context.fillStyle = palette.muted;
      context.globalAlpha *= state === 'ended' ? 0.45 : 0.8;
      context.fillRect(x + size * 0.2, y + size * 0.2, size * 0.6, size * 0.6);
  }
}
