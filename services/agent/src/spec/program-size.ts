import { AgentError } from '../runtime/agent-error.ts';

/**
 * The kernel's limit of one argument or variable (`NAME=value`), with the zero byte at its end: MAX_ARG_STRLEN of
 * include/uapi/linux/binfmts.h, with pages of 4 KiB.
 */
const MAX_STRING_BYTES = 128 * 1024;
/** The kernel's limit of all of them, with a pointer to each: a quarter of the usual stack of 8 MiB (execve(2), ARG_MAX). */
const MAX_PROGRAM_BYTES = 2 * 1024 * 1024;
const POINTER_BYTES = 8;
/** The part of a name that is quoted in a message. */
const MAX_QUOTED = 100;

/**
 * Counts the arguments and variables of one program before they are built. The kernel would start no larger program, but references to
 * variables could make a pod's few bytes so large that the agent runs out of memory.
 */
export class ProgramSize {
  #bytes = 0;

  /** Counts a string. AgentError 'CreateContainerConfigError' when it is too long, or all of them are. `what` names it in the message. */
  add(what: string, bytes: number): void {
    if (bytes >= MAX_STRING_BYTES) {
      throw refused(
        `${what.slice(0, MAX_QUOTED)} has ${bytes} bytes; a program gets at most ${MAX_STRING_BYTES - 1} in one`,
      );
    }
    this.#bytes += bytes + 1 + POINTER_BYTES;
    if (this.#bytes <= MAX_PROGRAM_BYTES) return;
    throw refused(
      `with ${what.slice(0, MAX_QUOTED)}, arguments and variables take ${this.#bytes} bytes; a program gets at most ${MAX_PROGRAM_BYTES}`,
    );
  }

  /** Counts a variable whose name and value have so many bytes. */
  addVariable(name: string, valueBytes: number): void {
    this.add(`variable ${name.slice(0, MAX_QUOTED)}`, Buffer.byteLength(name) + 1 + valueBytes);
  }
}

function refused(message: string): AgentError {
  return new AgentError('CreateContainerConfigError', message);
}
