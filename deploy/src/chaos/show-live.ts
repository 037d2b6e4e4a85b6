import { stripVTControlCharacters } from 'node:util';
import type { Clock } from '@gantry/base';
import type { Facts } from '../status/facts.ts';
import { Leaders } from './elections.ts';
import { faultName, type PlannedFault } from './fault.ts';
import {
  type CampaignView,
  describeChecks,
  describeElection,
  describeEvents,
  describeResult,
  describeTally,
  seconds,
  violationsOf,
} from './show-lines.ts';
import { Tally } from './workloads/tally.ts';

/** A terminal. */
export interface Screen {
  readonly columns: number;
  readonly rows: number;
  write(text: string): void;
}

/** What the picture shows. */
export interface LiveState {
  readonly elapsedMs: number;
  readonly planned: number;
  readonly done: number;
  readonly round: number;
  readonly acting: readonly { readonly fault: PlannedFault; readonly detail: string; readonly leftMs: number }[];
  readonly leaders: Leaders;
  readonly nodes: Facts['nodes'];
  readonly tally: Tally;
  /** What the checker says so far; empty before its first verdict. */
  readonly checks: readonly string[];
  readonly events: readonly string[];
}

const DRAW_EVERY_MS = 500;
const FACTS_EVERY_MS = 5_000;
const KEPT_EVENTS = 100;
const SHOWN_VIOLATIONS = 3;
const [ALTERNATE, NORMAL] = ['\x1b[?1049h\x1b[?25l', '\x1b[?25h\x1b[?1049l'];

/** Shows a campaign as a picture that changes; its events and result stay as lines when it ends. */
export function showLive(clock: Clock, screen: Screen, nodes: () => Promise<Facts['nodes']>): CampaignView {
  const live = new LiveView(clock, screen, nodes);
  live.begin();
  return live.view;
}

class LiveView {
  readonly view: CampaignView;
  readonly #clock: Clock;
  readonly #screen: Screen;
  readonly #nodesOf: () => Promise<Facts['nodes']>;
  readonly #since: number;
  readonly #leaders = new Leaders();
  readonly #acting = new Map<string, { fault: PlannedFault; detail: string; endMs: number }>();
  readonly #events: string[] = [];
  readonly #cancels = new Map<string, () => void>();
  #counts = { planned: 0, done: 0, round: 1 };
  #tally = new Tally();
  #checks: readonly string[] = [];
  #nodes: Facts['nodes'] = [];
  #result: readonly string[] = [];

  constructor(clock: Clock, screen: Screen, nodes: () => Promise<Facts['nodes']>) {
    this.#clock = clock;
    this.#screen = screen;
    this.#nodesOf = nodes;
    this.#since = clock.monotonicMs();
    const events = describeEvents((text) => this.#say(text), this.#leaders);
    this.view = {
      ...events,
      onPlan: (faults, folder) => {
        this.#counts.planned = faults.length;
        events.onPlan(faults, folder);
      },
      onWorking: (tally) => void (this.#tally = tally),
      onStart: (fault, detail) => {
        this.#acting.set(fault.id, { fault, detail, endMs: clock.monotonicMs() + fault.durationMs });
        this.#counts = { ...this.#counts, done: this.#counts.done + 1, round: fault.round + 1 };
        events.onStart(fault, detail);
      },
      onHeal: (fault) => {
        this.#acting.delete(fault.id);
        events.onHeal(fault);
      },
      onVerdict: (verdict) => {
        const violations = violationsOf(verdict).slice(0, SHOWN_VIOLATIONS);
        const until = seconds(verdict.untilMs - this.#since);
        this.#checks = [
          `invariants until ${until}: ${describeChecks(verdict)}`,
          ...violations.map((one) => `  ${one}`),
        ];
        events.onVerdict(verdict);
      },
      onResult: (result) => void (this.#result = describeResult(result)),
      [Symbol.dispose]: () => this.#end(),
    };
  }

  begin(): void {
    this.#screen.write(ALTERNATE);
    this.#every('draw', DRAW_EVERY_MS, () => this.#draw());
    this.#every('facts', FACTS_EVERY_MS, () => {
      // A failure is shown as the nodes seen last: faults make some.
      void this.#nodesOf().then(
        (nodes) => (this.#nodes = nodes),
        () => undefined,
      );
    });
  }

  #every(name: string, ms: number, work: () => void): void {
    work();
    this.#cancels.set(
      name,
      this.#clock.setTimer(ms, () => this.#every(name, ms, work)),
    );
  }

  #say(text: string): void {
    this.#events.push(`${seconds(this.#clock.monotonicMs() - this.#since).padStart(8)}  ${text}`);
    if (this.#events.length > KEPT_EVENTS) this.#events.shift();
  }

  #draw(): void {
    const now = this.#clock.monotonicMs();
    const lines = renderLive(
      {
        ...this.#counts,
        elapsedMs: now - this.#since,
        acting: [...this.#acting.values()].map(({ endMs, ...one }) => ({ ...one, leftMs: Math.max(0, endMs - now) })),
        leaders: this.#leaders,
        nodes: this.#nodes,
        tally: this.#tally,
        checks: this.#checks,
        events: this.#events,
      },
      this.#screen,
    );
    this.#screen.write(`\x1b[H${lines.map((line) => `${line}\x1b[K`).join('\r\n')}\x1b[J`);
  }

  #end(): void {
    for (const cancel of this.#cancels.values()) cancel();
    this.#screen.write(`${NORMAL}${[...this.#events, ...this.#result].map((line) => `${line}\n`).join('')}`);
  }
}

/** The picture, at most as wide and high as the screen. */
export function renderLive(state: LiveState, { columns, rows }: Pick<Screen, 'columns' | 'rows'>): readonly string[] {
  const { acting, leaders, nodes, tally } = state;
  const ready = nodes.filter((node) => node.ready === 'True').length;
  const head = [
    `chaos  ${seconds(state.elapsedMs)}   fault ${state.done} of ${state.planned}, round ${state.round}`,
    '',
    `faults now${acting.length === 0 ? ': none' : ''}`,
    ...acting.map(({ fault, detail, leftMs }) => `  ${faultName(fault)}  ${seconds(leftMs)} left  ${detail}`),
    'leaders',
    ...leaders.all.map((election) => `  ${describeElection(election)}`),
    `nodes: ${ready} of ${nodes.length} Ready`,
    describeTally(tally),
    ...state.checks,
    '',
  ];
  const left = Math.max(0, rows - head.length - 1);
  const events = left === 0 ? [] : state.events.slice(-left);
  return [...head, ...events].slice(0, rows).map((line) => stripVTControlCharacters(line).slice(0, columns));
}
