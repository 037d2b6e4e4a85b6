import type { Instant } from '@gantry/base';

type Labels = Readonly<Record<string, string>>;

export interface Sample {
  /** The suffix of the family's name, for a histogram. */
  readonly suffix?: '_bucket' | '_sum' | '_count';
  readonly labels: Labels;
  readonly value: number;
  readonly at?: Instant;
}

/** A family of metrics. */
export interface Family {
  readonly name: string;
  readonly type: 'counter' | 'gauge' | 'histogram';
  readonly help: string;
  readonly samples: readonly Sample[];
}

export function family(name: string, type: Family['type'], help: string, samples: readonly Sample[]): Family {
  return { name, type, help, samples };
}

/** Prometheus' text format. Families without samples are omitted. */
export function prometheusText(families: readonly Family[]): string {
  return families
    .filter(({ samples }) => samples.length > 0)
    .map(({ name, type, help, samples }) => {
      const lines = samples.map(
        ({ suffix = '', labels, value, at }) =>
          `${name}${suffix}${labelText(labels)} ${value}${at === undefined ? '' : ` ${Math.round(at)}`}`,
      );
      return `# HELP ${name} ${help}\n# TYPE ${name} ${type}\n${lines.join('\n')}\n`;
    })
    .join('');
}

function labelText(labels: Labels): string {
  const entries = Object.entries(labels).sort(([one], [other]) => (one < other ? -1 : 1));
  if (entries.length === 0) return '';
  return `{${entries.map(([name, value]) => `${name}="${escaped(value)}"`).join(',')}}`;
}

function escaped(value: string): string {
  return value.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n');
}
