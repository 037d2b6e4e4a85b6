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
export function createFlowMetrics(metrics: Metrics, levels: Levels, lent: () => Lent) {
  declareLevelGauges(metrics, levels);
  declareLent(metrics, lent);
  declareSchemaGauges(metrics, levels);
  declareCounts(metrics, levels);
  declareTallies(metrics, levels);
  const rejected = metrics.counter(`${PREFIX}rejected_requests_total`, 'Rejected requests', [...LABELS, 'reason']);
  const waits = metrics.histogram(`${PREFIX}request_wait_duration_seconds`, 'Time that requests waited', [
    ...LABELS,
    'execute',
  ]);
  return {
    rejected: (priority_level: string, flow_schema: string, reason: Rejection) =>
      rejected.inc({ priority_level, flow_schema, reason }),
    waited: (priority_level: string, flow_schema: string, execute: 'true' | 'false', seconds: number) =>
      waits.observe(seconds, { priority_level, flow_schema, execute }),
  };
}

/** Gauges for the seats of levels. */
function declareLevelGauges(metrics: Metrics, levels: Levels): void {
  const each = (name: string, help: string, value: (level: PriorityLevel) => number): void => {
    metrics.gauge(PREFIX + name, help, ['priority_level'], (gauge) => {
      for (const level of levels()) gauge.set(value(level), { priority_level: level.settings.name });
    });
  };
  each('current_limit_seats', 'Seats of a level after lending and borrowing', (level) => level.limit);
  each('nominal_limit_seats', 'Seats of a level by its shares', ({ settings }) => settings.nominal);
  each('lower_limit_seats', 'Seats of a level that it never lends', ({ settings }) => settings.lower);
  each('upper_limit_seats', 'Seats of a level with all that it may borrow', ({ settings }) => settings.upper);
  const period = 'in the last borrowing period';
  each('demand_seats_high_watermark', `Maximum demand for seats ${period}`, ({ demand }) => demand.high);
  each('demand_seats_average', `Average demand for seats ${period}`, ({ demand }) => demand.average);
  each('demand_seats_stdev', `Standard deviation of the demand ${period}`, ({ demand }) => demand.deviation);
  each('demand_seats_smoothed', 'Demand for seats, smoothed over periods', ({ demand }) => demand.smooth);
}

function declareLent(metrics: Metrics, lent: () => Lent): void {
  metrics.gauge(
    `${PREFIX}target_seats`,
    'Seats that a level should have after a borrowing period',
    ['priority_level'],
    (gauge) => {
      for (const [priority_level, seats] of lent().targets) gauge.set(seats, { priority_level });
    },
  );
  metrics.gauge(
    `${PREFIX}seat_fair_frac`,
    'The fraction of its target that a level gets which is not at a bound',
    [],
    (gauge) => {
      gauge.set(lent().fairFraction);
    },
  );
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
  each('current_executing_requests', 'Requests that execute now', (load) => load.executing);
  each('current_executing_seats', 'Seats of requests that execute now', (load) => load.executingSeats);
  each('current_inqueue_requests', 'Requests that wait now', (load) => load.waiting);
  each('current_inqueue_seats', 'Seats of requests that wait now', (load) => load.waitingSeats);
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
  each('dispatched_requests_total', 'Requests that began to execute', (load) => load.dispatched);
  const noRoom = 'How often there was no free seat for the next request';
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
  each(
    'request_execution_seconds',
    'Time that requests executed; of type `watch` only the start of the watch',
    (load) => load.executions,
  );
  const lengths = 'Length of a queue after a request was added';
  each('request_queue_length_after_enqueue', lengths, (load) => ({ '': load.lengths }));
  each('work_estimated_seats', 'Seats that requests occupy', (load) => ({ '': load.estimates }));
}
