import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { putsOf, readRecordedRun, revisionAt, addObject, writeRun } from '../testing/editable-run.ts';
import { writeReport } from './write-report.ts';

const HOSTILE = `</pre><script>alert("it's")</script>&`;

describe('writeReport', () => {
  it('draws faults, leaders and latencies, and names the longest gaps', async () => {
    await using written = await writeRun(await readRecordedRun());
    const file = path.join(written.folder, 'report.html');
    expect(await writeReport(written.folder, file)).toMatchObject({ outcome: 'ok' });
    const page = await readFile(file, 'utf8');
    expect(page.match(/<rect /g)?.length).toBeGreaterThan(6);
    expect(page).toMatch(/<title>kill \S+-scheduler-\d: [\d.]+ s to [\d.]+ s<\/title>/);
    expect(page).toMatch(/<title>epoch \d+ of \S+: /);
    expect(page.match(/<polyline [^>]*points="[^"]{100,}"/g)).toHaveLength(2);
    expect(page).toContain('<h2>Violations</h2><p>None.</p>');
    // It needs no other file.
    expect(page).not.toMatch(/ (?:src|href)=/);
  });

  it('shows the lines of history of a violation, and escapes all texts of the run', async () => {
    const run = await readRecordedRun();
    run.run = { ...run.run, clusterId: run.run.clusterId, replay: HOSTILE };
    const service = putsOf(run, 'services/chaos/web')[0];
    const other = {
      ...service?.object,
      metadata: { namespace: 'chaos', name: HOSTILE.replaceAll('/', ''), uid: 'other' },
    };
    const at = revisionAt(run, (service?.at.atMs ?? 0) + 1000);
    addObject(at, 'services', other);
    await using written = await writeRun(run);
    const file = path.join(written.folder, 'report.html');
    const { invariants } = await writeReport(written.folder, file);
    const [violation] = invariants.find(({ invariant }) => invariant === 'I35')?.violations ?? [];
    const page = await readFile(file, 'utf8');
    expect(page).not.toContain('<script');
    expect(page).toContain('&lt;script&gt;alert(&quot;it&#39;s&quot;)&lt;/script&gt;&amp;');
    for (const place of violation?.evidence ?? ['none']) expect(page).toContain(`${place}: {`);
    expect(page).not.toContain(': not read');
  });
});
