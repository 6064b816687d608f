import type { Logger } from 'pino'
import type { Configuration } from '../operations/configuration/configuration.js'
import { version } from '../operations/version.js'
import { ownNodeId } from '../read-models/lease-holder.js'
import { installTracer } from '../tracing/tracing.js'

/** In this thread, where the configuration wants traces: nothing of OpenTelemetry is loaded otherwise. Hands back what ends it. */
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
