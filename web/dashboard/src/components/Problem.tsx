import { CircleAlert } from 'lucide-react'
import { ApiError } from '../api/api-error'
import { useKnownText, useText } from '../app/texts'
import { Button } from './Button'
import { useRefusalText } from './shown-refusals'
import './Problem.css'

interface ProblemProps {
  readonly error: Error | null
  readonly retry?: (() => void) | undefined
  /** The fields whose messages are shown elsewhere. */
  readonly shownFields?: readonly string[]
  /** The failed request was a read, not a change. */
  readonly reading?: boolean
}

/** Shows the failure, whether anything was changed, and the next step. */
export function Problem({ error, retry, shownFields = [], reading = false }: ProblemProps) {
  const text = useText()
  const refusalText = useRefusalText()
  const { title, help } = useErrorTexts(error, reading)
  if (!error) return null
  const { fields, rule: shownRule } = error instanceof ApiError ? error : { fields: {}, rule: undefined }
  const others = Object.entries(fields).filter(([name, { rule }]) => !shownFields.includes(name) && rule !== shownRule)
  return (
    <div className="Problem" role="alert">
      <CircleAlert />
      <div>
        <p className="Problem-title">{title}</p>
        <p>{help}</p>
        {others.length > 0 && (
          <ul>
            {others.map(([name, reason]) => (
              <li key={name}>{refusalText(reason)}</li>
            ))}
          </ul>
        )}
      </div>
      {retry && <Button onPress={retry}>{text('common.tryAgain')}</Button>}
    </div>
  )
}

function useErrorTexts(error: Error | null, reading: boolean): { readonly title: string; readonly help: string } {
  const text = useText()
  const known = useKnownText()
  const refusalText = useRefusalText()
  if (!(error instanceof ApiError)) return { title: text('errors.crashed'), help: text('errors.crashedHelp') }
  const { outcome, reason, rule } = error
  if (outcome === 'unknown') return { title: text('errors.unknown'), help: text('errors.unknownHelp') }
  if (outcome === 'unreachable') {
    return { title: text('errors.unreachable'), help: reason ? refusalText(reason) : text('errors.unreachableHelp') }
  }
  const title = known(`errors.title.${rule}`) ?? text(reading ? 'errors.notShown' : 'errors.refused')
  return { title, help: reason ? refusalText(reason) : error.message }
}
