import type { Metrics } from '@gantry/service';
import type { PriorityLevel, Rejection, SchemaLoad } from './priority-level.ts';

const LABELS = ['priority_level', 'flow_schema'] as const;
const PREFIX = 'apiserver_flowcontrol_';

type Levels = () => Iterable<PriorityLevel>;

/** Kubernetes' metrics of flow control. An admitted request only changes plain numbers, which each scrape turns into series. */
export class FlowMetrics {
  readonly #rejected;
  readonly #waits;

  constructor(metrics: Metrics, levels: Levels) {
    declareLevelGauges(metrics, levels);
    declareSchemaGauges(metrics, levels);
    declareDispatched(metrics, levels);
    this.#rejected = metrics.counter(`${PREFIX}rejected_requests_total`, 'Requests that were refused.', [
      ...LABELS,
      'reason',
    ]);
    this.#waits = metrics.histogram(`${PREFIX}request_wait_duration_seconds`, 'Time that requests waited.', [
      ...LABELS,
      'execute',
    ]);
  }

  rejected(level: string, schema: string, reason: Rejection): void {
    this.#rejected.inc({ priority_level: level, flow_schema: schema, reason });
  }

  waited(level: string, schema: string, execute: 'true' | 'false', seconds: number): void {
    this.#waits.observe(seconds, { priority_level: level, flow_schema: schema, execute });
  }
}

/** Seats of levels. */
function declareLevelGauges(metrics: Metrics, levels: Levels): void {
  const each = (name: string, help: string, value: (level: PriorityLevel) => number): void => {
    metrics.gauge(PREFIX + name, help, ['priority_level'], (gauge) => {
      for (const level of levels()) gauge.set(value(level), { priority_level: level.settings.name });
    });
  };
  each('current_limit_seats', 'Seats after lending and borrowing.', (level) => level.limit);
  each('nominal_limit_seats', 'Seats by the shares.', ({ settings }) => settings.nominal);
  each('lower_limit_seats', 'Seats that are not lent.', ({ settings }) => settings.lower);
  each('upper_limit_seats', 'Seats with all that may be borrowed.', ({ settings }) => settings.upper);
  const period = 'in the last period of borrowing';
  each('demand_seats_high_watermark', `The most seats that were wanted ${period}.`, ({ demand }) => demand.high);
  each('demand_seats_average', `Seats that were wanted on average ${period}.`, ({ demand }) => demand.average);
  each('demand_seats_stdev', `Standard deviation of the seats wanted ${period}.`, ({ demand }) => demand.deviation);
  each('demand_seats_smoothed', 'Seats that are wanted, smoothed over periods.', ({ demand }) => demand.smooth);
}

/** Requests and seats of levels by flow schema. */
function declareSchemaGauges(metrics: Metrics, levels: Levels): void {
  const each = (name: string, help: string, value: (load: SchemaLoad) => number): void => {
    metrics.gauge(PREFIX + name, help, LABELS, (gauge) => {
      for (const level of levels()) {
        for (const [flow_schema, load] of level.loads) {
          gauge.set(value(load), { priority_level: level.settings.name, flow_schema });
        }
      }
    });
  };
  each('current_executing_requests', 'Requests that execute.', (load) => load.executing);
  each('current_executing_seats', 'Seats of requests that execute.', (load) => load.executingSeats);
  each('current_inqueue_requests', 'Requests that wait.', (load) => load.waiting);
  each('current_inqueue_seats', 'Seats of requests that wait.', (load) => load.waitingSeats);
}

/** Dispatched requests: levels count them. */
function declareDispatched(metrics: Metrics, levels: Levels): void {
  metrics.counter(`${PREFIX}dispatched_requests_total`, 'Requests that began to execute.', LABELS, (counter) => {
    for (const level of levels()) {
      for (const [flow_schema, load] of level.loads) {
        counter.inc({ priority_level: level.settings.name, flow_schema }, load.dispatched);
      }
    }
  });
}
