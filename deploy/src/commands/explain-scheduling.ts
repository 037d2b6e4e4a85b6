/** `npm run explain-scheduling -- POD [-n NAMESPACE] [--kubeconfig FILE] [--json]`: what the scheduler considered for a pod. */
import { resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { kubeconfigOf, openApi } from '../cluster/api.ts';
import { inheritedEnvironment, invokedIn, readCommandConfig } from '../config.ts';
import { type Decision, renderDecision } from '../explain-scheduling/render-decision.ts';
import { CommandError } from '../machine/command-error.ts';
import { runCommand } from './run-command.ts';

const LIMIT_MS = 20_000;

await runCommand(async () => {
  const { values, positionals } = parseArgs({
    options: {
      namespace: { type: 'string', short: 'n', default: 'default' },
      kubeconfig: { type: 'string' },
      json: { type: 'boolean', default: false },
    },
    allowPositionals: true,
  });
  const [pod] = positionals;
  const { namespace } = values;
  if (pod === undefined || positionals.length > 1) {
    throw new CommandError('one pod is needed', 'npm run explain-scheduling -- POD [-n NAMESPACE]');
  }
  const environment = inheritedEnvironment();
  const config = readCommandConfig(environment);
  const file =
    values.kubeconfig === undefined ? kubeconfigOf(config) : resolve(invokedIn(environment), values.kubeconfig);
  using api = openApi(config, file);
  const path = `/gantry/v1/scheduling?${new URLSearchParams({ namespace, pod })}`;
  const text = await api.raw({ method: 'GET', path }, AbortSignal.timeout(LIMIT_MS));
  const { decisions, unreachable } = JSON.parse(text) as {
    readonly decisions: readonly Decision[];
    readonly unreachable: readonly unknown[];
  };
  const [decision] = decisions;
  if (decision === undefined) {
    const missing = unreachable.length === 0 ? '' : ' among those that answer: not all schedulers do';
    throw new CommandError(
      `there is no decision for ${namespace}/${pod}${missing}`,
      'the leading scheduler remembers its last decision for each of the last 500 pods; `kubectl describe pod` shows the Events',
    );
  }
  process.stdout.write(`${values.json ? JSON.stringify(decision, null, 2) : renderDecision(decision)}\n`);
  return 0;
});
