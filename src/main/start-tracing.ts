import type { Logger } from 'pino'
import type { Configuration } from '../operations/configuration/configuration.js'
import { version } from '../operations/version.js'
import { ownNodeId } from '../read-models/lease-holder.js'
import { installTracer } from '../tracing/tracing.js'

/** Starts tracing in this thread if it is configured; otherwise OpenTelemetry is not loaded. Returns a function that stops it. */
export async function startTracing({ traced }: Configuration, logger: Logger): Promise<() => Promise<void>> {
  if (!traced) return async () => undefined
  const { openTelemetry } = await import('../tracing/opentelemetry.js')
  const telemetry = openTelemetry({ version, instanceId: ownNodeId() }, (reason) =>
    logger.warn({ reason }, 'traces are not sent'),
  )
  installTracer(telemetry)
  return async () => {
    installTracer(undefined)
    await telemetry.close()
  }
}
