import { type Clock, ControlLoop, errorMessage, must } from '@gantry/base';
import { toGrpcFailure } from '@gantry/client';
import { reportService } from '@gantry/controller-runtime';
import { gatewayOf, REPORT_PORT } from '@gantry/objects';
import { type GroupMember, grpcServer, type GrpcServer, type Logger, type ReportedParts } from '@gantry/service';

const RETRY_MS = 1000;

export interface ReportServerOptions
  extends Omit<Parameters<typeof grpcServer>[0], 'address' | 'services' | 'toGrpcError'> {
  readonly podCidr: string;
  readonly parts: ReportedParts;
  readonly clock: Clock;
  readonly logger: Logger;
  /** `REPORT_PORT` when absent. */
  readonly port?: number;
}

/**
 * Serves what this process says of itself, for API servers, at the host's address on the pod bridge. The bridge may be created later, and
 * another program may have the port: the rules do not wait for that.
 */
export function reportServer({ podCidr, parts, port = REPORT_PORT, ...options }: ReportServerOptions): GroupMember {
  const { clock, logger } = options;
  const address = `${must(gatewayOf(podCidr), 'a range of pods')}:${port}`;
  const services = [reportService(parts)];
  let reported = '';
  return {
    name: 'report-server',
    run: (signal) =>
      new ControlLoop({
        round: () => serveOnce(grpcServer({ ...options, address, services, toGrpcError: toGrpcFailure }), signal),
        intervalMs: RETRY_MS,
        onError: (error) => {
          const reason = errorMessage(error);
          if (reason !== reported) logger.warn({ address, reason }, 'the loops of this proxy are not shown, retrying');
          reported = reason;
        },
        clock,
      }).run(signal),
  };
}

async function serveOnce(server: GrpcServer, signal: AbortSignal): Promise<void> {
  const ended = new AbortController();
  try {
    await server.run(AbortSignal.any([signal, ended.signal]));
  } finally {
    ended.abort();
    await server.close?.();
  }
}
