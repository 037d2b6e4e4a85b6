import type { OptionGroup } from './option-group.ts';

/** Image, command, variables and terminal. */
export const processOptions: OptionGroup = (spec) => ({
  container: {
    Image: spec.image,
    ...(spec.command === undefined ? {} : { Entrypoint: [...spec.command] }),
    ...(spec.args === undefined ? {} : { Cmd: [...spec.args] }),
    ...(spec.workingDir === undefined ? {} : { WorkingDir: spec.workingDir }),
    ...(spec.stopSignal === undefined ? {} : { StopSignal: spec.stopSignal }),
    Env: spec.env.map((variable) => `${variable.name}=${variable.value}`),
    OpenStdin: spec.stdin !== 'closed',
    StdinOnce: spec.stdin === 'open-once',
    Tty: spec.terminal === 'tty',
    // A health check of the image is Docker's, not the pod's.
    Healthcheck: { Test: ['NONE'] },
  },
  host: { RestartPolicy: { Name: 'no' }, ...(spec.runtime === undefined ? {} : { Runtime: spec.runtime }) },
});
