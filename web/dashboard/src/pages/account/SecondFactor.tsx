import { useState } from 'react'
import { api } from '../../api/api-client'
import type { SecondFactorCode, SecondFactorOffer, Session } from '../../api/contract'
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
import { TextField } from '../../components/TextField'
import { notify } from '../../components/Toasts'
import { QrCode } from './QrCode'

const path = '/session/second-factor'

export function SecondFactor() {
  const text = useText()
  const { hasSecondFactor } = useSession().user
  const [offer, setOffer] = useState<SecondFactorOffer>()
  const [isRemoving, setRemoving] = useState(false)
  const asked = useAction({ run: () => api.send<SecondFactorOffer>('POST', path), done: setOffer })
  const removal = useAction({
    run: () => api.send<Session>('DELETE', path),
    done: (session) => {
      setSession(session)
      setRemoving(false)
      notify(text('account.removed'))
    },
  })
  return (
    <Card title={text('account.secondFactor')}>
      <div>
        <Badge tone={hasSecondFactor ? 'good' : 'off'}>{text(hasSecondFactor ? 'common.yes' : 'common.no')}</Badge>
      </div>
      <p>{text(hasSecondFactor ? 'account.secondFactorOn' : 'account.secondFactorOff')}</p>
      {asked.error && <Problem error={asked.error} />}
      <div className="row">
        {hasSecondFactor ? (
          <Button look="danger" onPress={() => setRemoving(true)}>
            {text('account.remove')}
          </Button>
        ) : (
          <Button look="primary" pending={asked.pending} onPress={() => asked.start()}>
            {text('account.setUp')}
          </Button>
        )}
      </div>
      {offer && <Offer offer={offer} onClose={() => setOffer(undefined)} />}
      <Confirm
        title={text('account.removeTitle')}
        open={isRemoving}
        onClose={() => setRemoving(false)}
        onConfirm={() => removal.start()}
        confirm={text('account.remove')}
        pending={removal.pending}
        error={removal.error}
        danger
      >
        <p>{text('account.removeHelp')}</p>
      </Confirm>
    </Card>
  )
}

function Offer({ offer, onClose }: { readonly offer: SecondFactorOffer; readonly onClose: () => void }) {
  const text = useText()
  const { start, pending, error } = useAction({
    run: (proof: SecondFactorCode) => api.send<Session>('PUT', path, proof),
    done: (session) => {
      setSession(session)
      onClose()
      notify(text('account.turnedOn'))
    },
  })
  return (
    <Dialog title={text('account.offerTitle')} open onClose={onClose}>
      <p>{text('account.offerScan')}</p>
      <QrCode content={offer.uri} label={text('account.qr')} />
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
        <TextField
          name="code"
          label={text('account.code')}
          description={text('shell.codeHelp')}
          inputMode="numeric"
          autoComplete="one-time-code"
          pattern="[0-9]{6}"
          maxLength={6}
          required
        />
      </Form>
    </Dialog>
  )
}
