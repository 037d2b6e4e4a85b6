import { type Activity, readDisturbed } from '@gantry/controller-runtime/testing';
import { StatusError } from '@gantry/objects';

/** What the faults of calls need. */
export type DisturbedOutsideOptions = Parameters<typeof readDisturbed>[0] & {
  readonly activity: Activity;
  /** Called before a call, and again when it has been carried out. To crash, it aborts `crashed`. */
  readonly onCall: (call: string, moment: 'before' | 'after') => void;
};

/**
 * What is outside of the cluster as a process sees it: its methods are not carried out, or their answers are lost, as requests to the API
 * server. All of them return promises. Other members are as they are.
 */
export function disturbedOutside<O>(outside: O, options: DisturbedOutsideOptions): O {
  if (typeof outside !== 'object' || outside === null) return outside;
  return new Proxy(outside, {
    get: (target, name) => {
      const member: unknown = Reflect.get(target, name, target);
      if (typeof member !== 'function') return member;
      return (...args: readonly unknown[]) => {
        const call = `${String(name)}(${args.map(textOf).join(', ')})`;
        return options.activity.of(() => called(call, () => Reflect.apply(member, target, args) as unknown, options));
      };
    },
  });
}

async function called(call: string, carryOut: () => unknown, options: DisturbedOutsideOptions): Promise<unknown> {
  const { dice, faults, crashed, onCall } = options;
  crashed.throwIfAborted();
  onCall(call, 'before');
  const result = await readDisturbed(options, async () => await carryOut());
  onCall(call, 'after');
  crashed.throwIfAborted();
  if (dice.chance(faults()?.answerLost ?? 0)) throw StatusError.timeout('outcome unknown: the answer was lost');
  return result;
}

const MAX_TEXT = 60;

function textOf(argument: unknown): string {
  if (argument instanceof AbortSignal) return 'signal';
  return (JSON.stringify(argument) ?? String(argument)).slice(0, MAX_TEXT);
}
