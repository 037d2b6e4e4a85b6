import { type FieldError, forbidden, type PodSpec, oneOf } from '@gantry/objects';

const NAMED =
  'ABRT ALRM BUS CHLD CLD CONT FPE HUP ILL INT IO IOT KILL PIPE POLL PROF PWR QUIT SEGV STKFLT STOP SYS TERM TRAP TSTP TTIN TTOU URG USR1 USR2 VTALRM WINCH XCPU XFSZ RTMIN RTMAX';

const after = (base: string, sign: string, count: number) =>
  Array.from({ length: count }, (_, i) => `SIG${base}${sign}${i + 1}`);

/** The signals by which a container may be stopped, by the operating system of its pod. */
const SIGNALS: Readonly<Record<string, readonly string[]>> = {
  linux: [
    ...NAMED.split(' ').map((name) => `SIG${name}`),
    ...after('RTMIN', '+', 15),
    ...after('RTMAX', '-', 14),
  ].sort(),
  windows: ['SIGKILL', 'SIGTERM'],
};

/** The rules on a container's stop signal (Kubernetes: validateStopSignal). */
export function validateStopSignal(
  signal: string | undefined,
  { os }: Pick<PodSpec, 'os'>,
  path: string,
): FieldError[] {
  if (signal === undefined) return [];
  if (os === undefined) return [forbidden(path, 'may not be set for containers with empty `spec.os.name`')];
  const supported = SIGNALS[os.name];
  return supported === undefined ? [] : oneOf(path, signal, supported);
}
