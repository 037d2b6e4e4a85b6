import { accessSync, constants } from 'node:fs';
import { dirname } from 'node:path';
import { parseArgs } from 'node:util';
import { errorMessage, OptionError, wholeNumber } from '@gantry/base';
import { readRun } from './runs.ts';
import { ENDPOINTS } from './speed/measure-speed.ts';
import { MIN_ROUNDS } from './way/measure-way.ts';

/** As many as `npm run hollow` plays in one process. */
const MAX_NODES = 5_000;
const MAX_OBJECTS = 1_000_000;
/** A day. */
const MAX_MINUTES = 1_440;

/**
 * The options of the measures, with the measures that are asked for. Throws an OptionError, or an error of `parseArgs`, also for files that
 * are needed only after the measures, which take hours.
 */
export function readOptions(args: readonly string[], known: readonly string[]) {
  const { values, positionals } = parseArgs({
    args: [...args],
    options: {
      kubeconfig: { type: 'string', default: '.gantry/kubeconfig' },
      dev: { type: 'boolean', default: false },
      pods: { type: 'string', default: '1000,10000' },
      objects: { type: 'string', default: '10000' },
      nodes: { type: 'string', default: '1000' },
      etcd: { type: 'string', default: '0' },
      profile: { type: 'string' },
      beside: { type: 'string', multiple: true, default: [] },
      trials: { type: 'string', default: '10' },
      minutes: { type: 'string', default: '10' },
      times: { type: 'string', default: '20' },
      ready: { type: 'string', default: '40' },
      workloads: { type: 'string', default: '' },
      services: { type: 'string', default: '10000' },
      rounds: { type: 'string' },
      json: { type: 'string' },
      compare: { type: 'string' },
      reference: { type: 'string' },
      endpoints: { type: 'string', default: ENDPOINTS.join(',') },
    },
    allowPositionals: true,
  });
  const unknown = positionals.filter((name) => !known.includes(name));
  if (unknown.length > 0)
    throw new OptionError('measures', `there is no ${unknown.join(', ')}; there are ${known.join(', ')}`);
  // Fewer do not tell growth from noise.
  const leastRounds = positionals.includes('churn') ? MIN_ROUNDS : 1;
  return {
    ...values,
    measures: positionals,
    pods: values.pods.split(',').map((pods) => wholeNumber('--pods', pods, 1, MAX_OBJECTS)),
    objects: wholeNumber('--objects', values.objects, 1, MAX_OBJECTS),
    nodes: wholeNumber('--nodes', values.nodes, 1, MAX_NODES),
    etcd: wholeNumber('--etcd', values.etcd, 0, 7),
    trials: wholeNumber('--trials', values.trials, 1, 10_000),
    minutes: wholeNumber('--minutes', values.minutes, 1, MAX_MINUTES),
    times: wholeNumber('--times', values.times, 1, 1_000),
    ready: wholeNumber('--ready', values.ready, 1, 10_000),
    services: wholeNumber('--services', values.services, 1, MAX_OBJECTS),
    rounds: values.rounds === undefined ? undefined : wholeNumber('--rounds', values.rounds, leastRounds, 1_000),
    endpoints: values.endpoints.split(',').map((name) => endpointOf(name)),
    json: values.json === undefined ? undefined : writableFile('--json', values.json),
    compare: values.compare === undefined ? undefined : runOf('--compare', values.compare),
  };
}

function writableFile(option: string, file: string): string {
  try {
    accessSync(dirname(file), constants.W_OK);
    return file;
  } catch (error) {
    throw new OptionError(option, `${file} cannot be written: ${errorMessage(error)}`);
  }
}

function runOf(option: string, file: string): ReturnType<typeof readRun> {
  try {
    return readRun(file);
  } catch (error) {
    throw new OptionError(option, `${file} is no saved run: ${errorMessage(error)}`);
  }
}

function endpointOf(name: string): string {
  const found = ENDPOINTS.find((one) => one === name);
  if (found !== undefined) return found;
  throw new OptionError('--endpoints', `there is no ${JSON.stringify(name)}; there are ${ENDPOINTS.join(', ')}`);
}
