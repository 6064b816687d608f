import { runInBackground } from './background.js'
import { startProjectionWork } from './projection-work.js'

await runInBackground('projections', startProjectionWork)
