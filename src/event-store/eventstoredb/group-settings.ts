import {
  type PersistentSubscriptionToAllSettings,
  persistentSubscriptionToAllSettingsFromDefaults,
} from '@eventstore/db-client'
import { InvalidSettingsError, type PersistentSubscriptionSettings } from '../event-store.js'

/** Sets every setting, because the client's own defaults start at the end of the log. */
export function toWireSettings(settings: PersistentSubscriptionSettings): PersistentSubscriptionToAllSettings {
  // The client would only print a warning and send the first strategy.
  if (!['RoundRobin', 'DispatchToSingle', 'Pinned'].includes(settings.consumerStrategy))
    throw new InvalidSettingsError(`unknown consumer strategy: ${settings.consumerStrategy}`)
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
