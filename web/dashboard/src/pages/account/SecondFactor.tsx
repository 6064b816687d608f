import { useState } from 'react'
import type { SecondFactorCode, SecondFactorOffer, Session } from '../../../../../src/http/dashboard/api'
import { api } from '../../api/api-client'
import { useAction } from '../../api/use-action'
import { setSession, useSession } from '../../app/current-session'
import { useText } from '../../app/texts'
import { Badge } from '../../components/Badge'
import { Button } from '../../components/Button'
import { Card } from '../../components/Card'
import { Confirm } from '../../components/Confirm'
import { CopyableId } from '../../components/Copyable'
import { Dialog } from '../../components/Dialog'
import { Form } from '../../components/Form'
import { Problem } from '../../components/Problem'
import { AppCodeField } from '../../components/SignInFields'
import { notify } from '../../components/Toasts'
import { QrCode } from './QrCode'
import { RecoveryCodesDialog, RecoveryCodesLeft } from './RecoveryCodes'

const path = '/session/second-factor'

export function SecondFactor() {
  const text = useText()
  const { hasSecondFactor } = useSession().user
  const [isIssuing, setIssuing] = useState(false)
  const [offer, setOffer] = useState<SecondFactorOffer>()
  const [isRemoving, setRemoving] = useState(false)
  const setup = useAction({ run: () => api.send<SecondFactorOffer>('POST', path), onSuccess: setOffer })
  const removal = useAction({
    run: () => api.send<Session>('DELETE', path),
    onSuccess: (session) => {
      setSession(session)
      setRemoving(false)
      notify(text('account.turnedOff'))
    },
  })
  return (
    <Card title={text('account.twoFactor')}>
      <div>
        <Badge tone={hasSecondFactor ? 'good' : 'off'}>{text(hasSecondFactor ? 'common.on' : 'common.off')}</Badge>
      </div>
      <p>{text(hasSecondFactor ? 'account.twoFactorOn' : 'account.twoFactorOff')}</p>
      {hasSecondFactor && <RecoveryCodesLeft />}
      {setup.error && <Problem error={setup.error} />}
      <div className="row">
        {hasSecondFactor ? (
          <>
            <Button onPress={() => setIssuing(true)}>{text('account.newRecoveryCodes')}</Button>
            <Button look="bad" onPress={() => setRemoving(true)}>
              {text('account.turnOff')}
            </Button>
          </>
        ) : (
          <Button look="primary" pending={setup.pending} onPress={() => setup.start()}>
            {text('account.setUp')}
          </Button>
        )}
      </div>
      {offer && <Offer offer={offer} onClose={() => setOffer(undefined)} onTurnedOn={() => setIssuing(true)} />}
      {isIssuing && <RecoveryCodesDialog onClose={() => setIssuing(false)} />}
      <Confirm
        title={text('account.turnOffTitle')}
        open={isRemoving}
        onClose={() => setRemoving(false)}
        onConfirm={() => removal.start()}
        confirm={text('account.turnOff')}
        pending={removal.pending}
        error={removal.error}
        danger
      >
        <p>{text('account.turnOffHelp')}</p>
      </Confirm>
    </Card>
  )
}

interface OfferProps {
  readonly offer: SecondFactorOffer
  readonly onClose: () => void
  readonly onTurnedOn: () => void
}

function Offer({ offer, onClose, onTurnedOn }: OfferProps) {
  const text = useText()
  const { start, pending, error } = useAction({
    run: (proof: SecondFactorCode) => api.send<Session>('PUT', path, proof),
    onSuccess: (session) => {
      setSession(session)
      onClose()
      notify(text('account.turnedOn'))
      onTurnedOn()
    },
  })
  return (
    <Dialog title={text('account.setUpTitle')} open onClose={onClose}>
      <p>{text('account.setUpHelp')}</p>
      <QrCode content={offer.uri} label={text('account.qrCode')} />
      <div>
        <span className="Field-label">{text('account.key')}</span>
        <br />
        <CopyableId value={offer.secret} label={text('account.key')} />
      </div>
      <Form
        onSubmit={(data) => start({ code: String(data.get('code')) })}
        error={error}
        submit={text('account.turnOn')}
        pending={pending}
        cancel={onClose}
      >
        <AppCodeField label={text('account.code')} />
      </Form>
    </Dialog>
  )
}
