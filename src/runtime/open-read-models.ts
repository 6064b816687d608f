import { openEmbeddedReadModels } from '../read-models/embedded/embedded-read-models.js'
import type { ReadModels } from '../read-models/read-models.js'
import { ConfigurationError } from './configuration.js'
import type { ReadModelLocation } from './configuration-values.js'

/**
 * Those on MongoDB need not be reachable yet.
 * @throws ReadModelsUnavailableError where a directory cannot be used, ConfigurationError where a URL makes no sense
 */
export async function openReadModels(location: ReadModelLocation): Promise<ReadModels> {
  switch (location.engine) {
    case 'embedded':
      return openEmbeddedReadModels(location)
    case 'mongodb': {
      // The driver costs start time and memory that the embedded mode has no use for.
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
