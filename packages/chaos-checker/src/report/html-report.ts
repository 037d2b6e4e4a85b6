import type { InvariantVerdict, Verdict, Violation } from '../verdict.ts';
import { formatLoad, formatVerdict } from '../verdict-text.ts';
import { RESTING_MS, type Span, type Summary } from './summary.ts';
import { lineChart, type Point, timeLine } from './svg.ts';
import { html, type Html, raw } from './html.ts';

/** The lines of artefacts that a violation names, by `file:line`. */
export type Evidence = ReadonlyMap<string, string>;

const STYLE = `body{font:15px/1.4 system-ui,sans-serif;margin:2em auto;max-width:76em;padding:0 1em;color:#222}
table{border-collapse:collapse;width:100%}td,th{border-bottom:1px solid #ddd;padding:.3em .6em;text-align:left;vertical-align:top}
.broken{color:#b00020;font-weight:600}.holds{color:#1b7f3b}.idle{color:#777}
pre{background:#f5f5f5;padding:.6em;overflow-x:auto;white-space:pre-wrap;word-break:break-all}svg{width:100%;height:auto}`;

/** One HTML page without references to other files. All texts of the run are escaped. */
export function htmlReport(summary: Summary, verdict: Verdict, evidence: Evidence): string {
  const { run, requests, gaps } = summary;
  const window = { fromMs: run.startedAtMs, untilMs: run.endedAtMs };
  const violated = verdict.invariants.filter(({ violationCount }) => violationCount > 0);
  const page = html`<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>Chaos run ${run.clusterId}, seed ${run.seed}</title>
<style>${raw(STYLE)}</style></head><body>
<h1>Chaos run of ${run.clusterId}, seed ${run.seed}</h1>
<p class="${verdict.outcome === 'ok' ? 'holds' : 'broken'}">${
    formatVerdict({ ...verdict, invariants: [] })
      .split('\n')
      .at(-1)
      ?.split(':')[0] ?? ''
  }</p>
<p>${run.startedAt} to ${run.endedAt}. ${summary.faults.length} faults of ${new Set(summary.faults.map(({ row }) => row)).size} kinds.
Requests: ${requests.ok} acknowledged, ${requests.fail} refused, ${requests.unknown} without a known outcome.</p>
${run.replay === undefined ? raw('') : html`<p>To repeat the run:</p><pre>${run.replay}</pre>`}
${verdict.problems.map((problem) => html`<p class="broken">Problem: ${problem}</p>`)}
<h2>Faults</h2>${timeLine(summary.faults, window, '#d9822b')}
<h2>Leaders</h2>${timeLine(summary.terms, window, '#2b6cb0')}
<h2>Latency of requests</h2>${lineChart(latencyLines(summary), window)}
${verdict.loads.map((load) => html`<p>${formatLoad(load)}</p>`)}
<h2>Longest times without an acknowledged request</h2>
<table><tr><th>from</th><th>length</th><th>faults at that time</th></tr>${gaps.map((gap) => gapRow(gap, summary))}</table>
<h2>Violations</h2>${violated.length + verdict.found.length === 0 ? html`<p>None.</p>` : raw('')}
${verdict.found.map((what) => html`<p class="broken">Found by the campaign: ${what}</p>`)}
${violated.map((one) => violationsOf(one, evidence))}
<h2>Invariants</h2>
<table><tr><th></th><th>invariant</th><th>checked</th><th>result</th></tr>${verdict.invariants.map(invariantRow)}</table>
</body></html>
`;
  return page.text;
}

function latencyLines({ latencies }: Summary) {
  const stretchesOf = (value: 'medianMs' | 'maxMs') => {
    const stretches: Point[][] = [];
    for (const { fromMs: atMs, [value]: found } of latencies) {
      const last = stretches.at(-1);
      const isRested = atMs - (last?.at(-1)?.atMs ?? 0) >= RESTING_MS;
      if (last === undefined || isRested) stretches.push([{ atMs, value: found }]);
      else last.push({ atMs, value: found });
    }
    return stretches;
  };
  return [
    { name: 'slowest (ms)', color: '#b00020', stretches: stretchesOf('maxMs') },
    { name: 'median (ms)', color: '#2b6cb0', stretches: stretchesOf('medianMs') },
  ];
}

function gapRow({ fromMs, untilMs }: { fromMs: number; untilMs: number }, { faults }: Summary): Html {
  const during = faults
    .filter((fault: Span) => fault.fromMs < untilMs && fault.untilMs > fromMs)
    .map(({ label }) => label);
  return html`<tr><td>${seconds(fromMs)}</td><td>${seconds(untilMs - fromMs)}</td><td>${during.join(', ')}</td></tr>`;
}

function violationsOf({ invariant, title, violations, violationCount }: InvariantVerdict, evidence: Evidence): Html {
  return html`<h3>${invariant}: ${title} (${violationCount})</h3>${violations.map((violation) => violationOf(violation, evidence))}`;
}

function violationOf({ what, atMs, evidence: places }: Violation, evidence: Evidence): Html {
  const lines = places.map((place) => `${place}: ${evidence.get(place) ?? 'not read'}`);
  return html`<p class="broken">At ${seconds(atMs)}: ${what}</p>${lines.length === 0 ? raw('') : html`<pre>${lines.join('\n')}</pre>`}`;
}

function invariantRow({ invariant, title, checked, unit, violationCount, notChecked }: InvariantVerdict): Html {
  const [state, name] =
    violationCount > 0 ? ['broken', 'broken'] : checked > 0 ? ['holds', 'holds'] : ['idle', 'not checked'];
  const result = notChecked === undefined ? name : `${name}; not checked: ${notChecked}`;
  return html`<tr><td>${invariant}</td><td>${title}</td><td>${checked} ${unit}</td><td class="${state}">${result}</td></tr>`;
}

function seconds(ms: number): string {
  return `${(ms / 1000).toFixed(1)} s`;
}
