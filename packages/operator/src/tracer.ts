import { errorMessage } from '@gantry/base';
import { isReason } from '@gantry/objects';

/** What an operator uses of a span of `@opentelemetry/api`. */
export interface Span {
  setStatus(status: { readonly code: number; readonly message?: string }): unknown;
  recordException(error: Error | string): void;
  end(): void;
}

/**
 * What an operator uses of a tracer of `@opentelemetry/api`, which you pass, so the package does not depend on it. The span is active while its
 * reconcile runs: spans of instrumented libraries, such as those of HTTP requests, become its children.
 */
export interface Tracer {
  startActiveSpan<R>(
    name: string,
    options: { readonly attributes: Record<string, string> },
    work: (span: Span) => R,
  ): R;
}

/** `SpanStatusCode.ERROR` of `@opentelemetry/api`. */
const ERROR = 2;

/** Runs work in a span, if there is a tracer. An error is recorded in it; a Conflict is no failure, because it is repeated as a matter of course. */
export async function traced<R>(
  tracer: Tracer | undefined,
  name: string,
  attributes: Record<string, string>,
  work: () => Promise<R>,
): Promise<R> {
  if (tracer === undefined) return await work();
  return await tracer.startActiveSpan(name, { attributes }, async (span) => {
    try {
      return await work();
    } catch (error) {
      span.recordException(error instanceof Error ? error : errorMessage(error));
      if (!isReason(error, 'Conflict')) span.setStatus({ code: ERROR, message: errorMessage(error) });
      throw error;
    } finally {
      span.end();
    }
  });
}
