import type { ReadModels } from '../read-models/read-models.js'
import { ConfigurationError } from './configuration.js'
import type { ReadModelLocation } from './configuration-values.js'

/**
 * Either implementation is loaded when it is chosen: the driver costs start time and memory, and a command that reads nothing but
 * the log needs neither. Those on MongoDB need not be reachable yet.
 * @throws ReadModelsUnavailableError where a directory cannot be used, ConfigurationError where a URL makes no sense
 */
export async function openReadModels(location: ReadModelLocation): Promise<ReadModels> {
  switch (location.engine) {
    case 'embedded': {
      const { openEmbeddedReadModels } = await import('../read-models/embedded/embedded-read-models.js')
      return openEmbeddedReadModels(location)
    }
    case 'mongodb': {
      const { openMongodbReadModels } = await import('../read-models/mongodb/mongodb-read-models.js')
      try {
        return openMongodbReadModels(location)
      } catch (error) {
        throw error instanceof TypeError ? new ConfigurationError([`READ_MODEL_URL ${error.message}`]) : error
      }
    }
    default:
      return location satisfies never
  }
}
