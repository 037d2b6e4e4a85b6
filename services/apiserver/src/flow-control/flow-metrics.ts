import type { Metrics, Tally } from '@gantry/service';
import type { PriorityLevel, Rejection, SchemaLoad } from './priority-level.ts';

const LABELS = ['priority_level', 'flow_schema'] as const;
const PREFIX = 'apiserver_flowcontrol_';

type Levels = () => Iterable<PriorityLevel>;

/** The result of the last borrowing period. */
export interface Lent {
  /** Target seats by name of the level. */
  readonly targets: ReadonlyMap<string, number>;
  readonly fairFraction: number;
}

/** Kubernetes' metrics of flow control. An admitted request only changes plain numbers; each scrape reads them. */
export class FlowMetrics {
  readonly #rejected;
  readonly #waits;

  constructor(metrics: Metrics, levels: Levels, lent: () => Lent) {
    declareLevelGauges(metrics, levels);
    declareLent(metrics, lent);
    declareSchemaGauges(metrics, levels);
    declareCounts(metrics, levels);
    declareTallies(metrics, levels);
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

/** Gauges for the seats of levels. */
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

function declareLent(metrics: Metrics, lent: () => Lent): void {
  metrics.gauge(`${PREFIX}target_seats`, 'Seats that a level should have.', ['priority_level'], (gauge) => {
    for (const [priority_level, seats] of lent().targets) gauge.set(seats, { priority_level });
  });
  metrics.gauge(`${PREFIX}seat_fair_frac`, 'The part of their targets that levels get.', [], (gauge) => {
    gauge.set(lent().fairFraction);
  });
}

/** Gauges for requests and seats of levels, by flow schema. */
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

/** Counters and histograms of levels. */
function declareCounts(metrics: Metrics, levels: Levels): void {
  const each = (name: string, help: string, value: (load: SchemaLoad) => number): void => {
    metrics.counter(PREFIX + name, help, LABELS, (counter) => {
      for (const level of levels()) {
        for (const [flow_schema, load] of level.loads) {
          counter.inc({ priority_level: level.settings.name, flow_schema }, value(load));
        }
      }
    });
  };
  each('dispatched_requests_total', 'Requests that began to execute.', (load) => load.dispatched);
  const noRoom = 'How often there was no room for the request that was next.';
  each('request_dispatch_no_accommodation_total', noRoom, (load) => load.unaccommodated);
}

function declareTallies(metrics: Metrics, levels: Levels): void {
  const each = (name: string, help: string, tallies: (load: SchemaLoad) => Readonly<Record<string, Tally>>): void => {
    metrics.tallies(PREFIX + name, help, (show) => {
      for (const level of levels()) {
        for (const [flow_schema, load] of level.loads) {
          for (const [type, tally] of Object.entries(tallies(load))) {
            show({ priority_level: level.settings.name, flow_schema, ...(type === '' ? {} : { type }) }, tally);
          }
        }
      }
    });
  };
  each('request_execution_seconds', 'Time that requests executed.', (load) => load.executions);
  const lengths = 'Length of the queue of each request that began to wait.';
  each('request_queue_length_after_enqueue', lengths, (load) => ({ '': load.lengths }));
  each('work_estimated_seats', 'Seats that requests wanted.', (load) => ({ '': load.estimates }));
}
