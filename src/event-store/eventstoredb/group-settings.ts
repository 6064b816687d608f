import {
  type PersistentSubscriptionToAllSettings,
  persistentSubscriptionToAllSettingsFromDefaults,
} from '@eventstore/db-client'
import { InvalidSettingsError, type PersistentSubscriptionSettings } from '../event-store.js'

/** Every one of them: the client's own defaults begin at the end of the log. */
export function toWireSettings(settings: PersistentSubscriptionSettings): PersistentSubscriptionToAllSettings {
  // The client would only warn on the console, and send the first of them.
  if (!['RoundRobin', 'DispatchToSingle', 'Pinned'].includes(settings.consumerStrategy))
    throw new InvalidSettingsError(`no consumer strategy: ${settings.consumerStrategy}`)
  return persistentSubscriptionToAllSettingsFromDefaults({
    startFrom: settings.startFrom,
    resolveLinkTos: false,
    extraStatistics: false,
    messageTimeout: settings.messageTimeoutMs,
    maxRetryCount: settings.maxRetryCount,
    checkPointAfter: settings.checkpointAfterMs,
    checkPointLowerBound: settings.minCheckpointCount,
    checkPointUpperBound: settings.maxCheckpointCount,
    maxSubscriberCount: settings.maxSubscriberCount,
    liveBufferSize: settings.liveBufferSize,
    readBatchSize: settings.readBatchSize,
    historyBufferSize: settings.historyBufferSize,
    consumerStrategyName: settings.consumerStrategy,
  })
}

export function fromWireSettings(
  settings: PersistentSubscriptionToAllSettings,
  streamPrefixes: readonly string[],
): PersistentSubscriptionSettings {
  const { maxSubscriberCount } = settings
  return {
    startFrom: settings.startFrom,
    streamPrefixes,
    messageTimeoutMs: settings.messageTimeout,
    maxRetryCount: settings.maxRetryCount,
    checkpointAfterMs: settings.checkPointAfter,
    minCheckpointCount: settings.checkPointLowerBound,
    maxCheckpointCount: settings.checkPointUpperBound,
    maxSubscriberCount: typeof maxSubscriberCount === 'number' ? maxSubscriberCount : 0,
    liveBufferSize: settings.liveBufferSize,
    readBatchSize: settings.readBatchSize,
    historyBufferSize: settings.historyBufferSize,
    consumerStrategy: settings.consumerStrategyName as PersistentSubscriptionSettings['consumerStrategy'],
  }
}
