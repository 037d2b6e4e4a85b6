import type { Metrics } from '@gantry/service';
import type { PriorityLevel, Rejection } from './priority-level.ts';

const LABELS = ['priority_level', 'flow_schema'] as const;
const PREFIX = 'apiserver_flowcontrol_';

/** Kubernetes' metrics of flow control. What an admitted request costs is one number that is counted up. */
export class FlowMetrics {
  /** Requests that were not yet added to the metric, by level and schema. */
  readonly #dispatched = new Map<string, Map<string, number>>();
  readonly #rejected;
  readonly #waits;

  constructor(metrics: Metrics, levels: () => Iterable<PriorityLevel>) {
    const each = (name: string, help: string, value: (level: PriorityLevel) => number): void => {
      metrics.gauge(PREFIX + name, help, ['priority_level'], (gauge) => {
        for (const level of levels()) gauge.set(value(level), { priority_level: level.settings.name });
      });
    };
    each('current_executing_requests', 'Requests that execute.', (level) => level.executing);
    each('current_executing_seats', 'Seats of requests that execute.', (level) => level.executingSeats);
    each('current_inqueue_requests', 'Requests that wait.', (level) => level.waiting);
    each('current_limit_seats', 'Seats after lending and borrowing.', (level) => level.limit);
    each('nominal_limit_seats', 'Seats by the shares.', ({ settings }) => settings.nominal);
    each('lower_limit_seats', 'Seats that are not lent.', ({ settings }) => settings.lower);
    const dispatched = (): void => this.#flush(total);
    metrics.gauge(`${PREFIX}upper_limit_seats`, 'Seats with all that may be borrowed.', ['priority_level'], (gauge) => {
      // Before the counter that comes next is rendered.
      dispatched();
      for (const { settings } of levels()) gauge.set(settings.upper, { priority_level: settings.name });
    });
    const total = metrics.counter(`${PREFIX}dispatched_requests_total`, 'Requests that began to execute.', LABELS);
    this.#rejected = metrics.counter(`${PREFIX}rejected_requests_total`, 'Requests that were refused.', [
      ...LABELS,
      'reason',
    ]);
    this.#waits = metrics.histogram(`${PREFIX}request_wait_duration_seconds`, 'Time that requests waited.', [
      ...LABELS,
      'execute',
    ]);
  }

  dispatched(level: string, schema: string): void {
    let schemas = this.#dispatched.get(level);
    if (schemas === undefined) {
      schemas = new Map();
      this.#dispatched.set(level, schemas);
    }
    schemas.set(schema, (schemas.get(schema) ?? 0) + 1);
  }

  rejected(level: string, schema: string, reason: Rejection): void {
    this.#rejected.inc({ priority_level: level, flow_schema: schema, reason });
  }

  waited(level: string, schema: string, execute: 'true' | 'false', seconds: number): void {
    this.#waits.observe(seconds, { priority_level: level, flow_schema: schema, execute });
  }

  #flush(total: ReturnType<Metrics['counter']>): void {
    for (const [level, schemas] of this.#dispatched) {
      for (const [schema, count] of schemas) total.inc({ priority_level: level, flow_schema: schema }, count);
    }
    this.#dispatched.clear();
  }
}
