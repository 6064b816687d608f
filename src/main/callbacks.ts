import { runInBackground } from './background.js'
import { startCallbackWork } from './callback-work.js'

await runInBackground('callbacks', startCallbackWork)
