import { Check, Hand, X } from 'lucide-react'
import { isTerminal } from '../../../../../src/domain/transfer/status'
import type { StoryItem, TransferDetail } from '../../../../../src/http/dashboard/api'
import { useText } from '../../app/texts'
import { useDurationText } from '../../components/Duration'
import { Clock } from '../../components/Time'
import { type StepName, stepsOf } from './transfer-story'

/** Shows how far the transfer is, with the time between the steps. */
export function TransferSteps({ detail, items }: { detail: TransferDetail; items: readonly StoryItem[] }) {
  const text = useText()
  const took = useDurationText()
  const steps = stepsOf(items, upcomingSteps(detail))
  return (
    <ol className="TransferSteps" aria-label={text('transfer.steps')} data-count={steps.length}>
      {steps.map(({ name, at, tookMs }) => {
        const isBad = name === 'cancelled' || name === 'failed'
        return (
          <li key={name} className="TransferSteps-step" data-open={at === null || undefined} data-step={name}>
            <span className="TransferSteps-mark" aria-hidden>
              {at !== null && (name === 'manualControl' ? <Hand /> : isBad ? <X /> : <Check />)}
            </span>
            {tookMs !== null && (
              <span className="TransferSteps-took">
                <span>{took(tookMs)}</span>
              </span>
            )}
            <strong>{text(`transfer.step.${name}`)}</strong>
            <span>{at === null ? text('transfer.stepOpen') : <Clock at={at} />}</span>
          </li>
        )
      })}
    </ol>
  )
}

function upcomingSteps({ status, approval }: TransferDetail): readonly StepName[] {
  if (isTerminal(status)) return []
  return approval.needed ? ['approved', 'completed'] : ['completed']
}
