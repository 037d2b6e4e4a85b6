import type { Source } from '../read-artifacts.ts';
import { ClientOperations, type Completed } from './client-operations.ts';
import type { Invariant } from './invariant.ts';
import { WrittenVersions } from './written-versions.ts';

const WRITES = new Set(['create', 'update', 'patch', 'apply', 'delete']);

/**
 * I33 (etcd's robustness tests, Jepsen). Each acknowledged write is in etcd's history, with the version and uid of the response; all members
 * deliver the same history, also up to the restore of a snapshot, whose state is that of the history at its revision; and what a client
 * appended to a StatefulSet's file, with acknowledgement, is in the file at the end. From the clients' records and the members' histories.
 */
export const acknowledgedWritesSurvive: Invariant = {
  id: 'I33',
  title: 'Acknowledged writes survive, on all members of etcd alike',
  unit: 'acknowledged writes',
  needs: ['etcd'],
  observe(world, findings) {
    const pairs = new ClientOperations();
    const written = new WrittenVersions(world);
    const acknowledged: Completed[] = [];
    const appended = new Map<string, { number: string; atMs: number; source: Source }[]>();
    const judge = ({ key, verb, invoked, result, sources }: Completed) => {
      const atMs = result?.atMs ?? 0;
      if (verb === 'delete') {
        findings.checked();
        for (const version of written.of(key)) if (version.deletes && version.atMs >= invoked.atMs) return;
        findings.violation(atMs, `the deletion of ${key} was acknowledged, but never happened`, ...sources);
        return;
      }
      if (result?.resourceVersion === undefined) return;
      findings.checked();
      const version = written.find(key, Number(result.resourceVersion));
      if (version === 'present') return;
      if (version === undefined) {
        findings.violation(
          atMs,
          `${key}@${result.resourceVersion} was acknowledged, but is not in etcd's history`,
          ...sources,
        );
      } else if (result.uid !== undefined && version.uid !== undefined && version.uid !== result.uid) {
        findings.violation(
          atMs,
          `${key}@${result.resourceVersion} has the uid ${version.uid}, not ${result.uid}`,
          ...sources,
          version.source,
        );
      }
    };
    return {
      revision({ disagreements, atMs }) {
        for (const { what, source } of disagreements) findings.violation(atMs, what, source);
      },
      change(change) {
        written.add(change);
      },
      client(line, source) {
        if ('observe' in line) {
          const known = appended.get(line.key) ?? [];
          appended.set(line.key, known);
          if (line.observe === 'appended')
            known.push({ number: line.value.split('@')[0] ?? '', atMs: line.atMs, source });
          if (line.observe !== 'file') return;
          const numbers = new Set(line.value.split(','));
          for (const { number, atMs, source: from } of known) {
            findings.checked();
            if (!numbers.has(number))
              findings.violation(atMs, `${line.key}: ${number} was appended, and is lost`, from, source);
          }
          return;
        }
        const step = pairs.step(line, source);
        if (step === undefined) return;
        if (!('begun' in step)) {
          if (step.result?.phase === 'ok' && WRITES.has(step.verb)) acknowledged.push(step);
        } else if ('verb' in line && WRITES.has(line.verb)) written.track(step.begun);
      },
      cut(differences, atMs, source) {
        for (const what of differences) findings.violation(atMs, what, source);
        for (const one of acknowledged) judge(one);
      },
      finish() {
        for (const one of acknowledged) judge(one);
      },
    };
  },
};
