import { ManualClock } from '@gantry/base/testing';
import type { KubeObject, Resource } from '@gantry/objects';
import { PolicyView, type PolicyViewOptions } from '../policy/policy-view.ts';
import { RuleBook } from '../rules/rule-book.ts';
import { formatChange } from '../rules/transaction.ts';
import { topology } from './services.ts';

/** Starts a view of policies with its own book, and records its reports. */
export function startPolicyView(
  clock: PolicyViewOptions['clock'] = new ManualClock(),
  reach: PolicyViewOptions['reach'] = 'other-hosts',
) {
  const book = new RuleBook();
  const reports: string[] = [];
  const { podRange, podCidr } = topology();
  const view = new PolicyView(book, {
    podRange,
    podCidr,
    reach,
    clock,
    onOmitted: (policy, rules) => reports.push(`${policy}: ${rules}`),
    onClosed: (namespace, policy) => reports.push(`${namespace} is closed by ${policy}`),
    onShort: () => reports.push('short'),
    onCrowded: (namespace) => reports.push(`${namespace} is crowded`),
  });
  const take = (resource: Resource, object: KubeObject | undefined, old?: KubeObject) =>
    view.take({ kind: 'changed', resource, changes: [{ object, old }] });
  const { signal } = new AbortController();
  /** Runs one round. Returns false if policies wait for the next one. */
  const round = async () => await view.synchronize(signal);
  const catchUp = async () => await view.catchUp(signal);
  /** Returns nft's input after all rounds. Digests are shortened to `#`. */
  const text = async () => {
    while (!(await round()));
    return written();
  };
  const written = () => {
    const change = book.takeChange();
    return (change === undefined ? '' : formatChange('t', change)).replaceAll(/[0-9a-f]{40}/g, '#');
  };
  return { book, take, round, catchUp, text, written, reports };
}
