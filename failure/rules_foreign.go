package failure

// foreignRules are the commonest statements in other languages.
var foreignRules = []rule{
	{id: "foreign.timeout", class: NetworkTimeout, weight: wStatus, phrases: `
		(zeitüberschreitung|zeitlimit überschritten|zeitlimit)
		(délai|delai) ...3 (dépassé|depasse|expiré|attente)
		(tiempo de espera|tiempo límite|tempo limite|tempo esgotado|tempo di attesa|tempo limite excedido|tiempo agotado)
		(verbindung|connexion|conexión|conexão|connessione|conexion) ...4 (abgebrochen|unterbrochen|getrennt|zurückgesetzt|verloren|réinitialisée|interrompue|perdue|fermée|coupée|restablecida|perdida|cerrada|interrumpida|redefinida|encerrada|interrotta|chiusa|persa|reinicializada|reimpostata)
		(connexion|verbindung|conexión|conexão|connessione) ...3 (échouée|impossible|fehlgeschlagen|fallida|fallita|falhou)
		превышен(о)? ...3 (время|лимит времени|таймаут)
		время ожидания
		соединение ...3 (сброшено|разорвано|прервано|закрыто)
		(таймаут|тайм-аут)
		超时
		連線逾時
		逾时
		逾時
		タイムアウト
		接続が(切断|リセット)
		连接 (被)? (重置|关闭|断开|中断)
		连接已 (重置|关闭|断开)
		连接中断
		시간 초과
		시간이 초과
		(przekroczono|limit) czas
		zaman aşımı
		(broken|gebrochene) (datenübergabe|pipe)
		relais brisé
		tubería rota
		daten(übergabe)? unterbrochen
		datenübergabe unterbrochen`},
	{id: "foreign.refused", class: TemporaryServiceError, weight: wStatus + 4, phrases: `
		verbindungsaufbau (abgelehnt|verweigert)
		verbindung (abgelehnt|verweigert|wurde verweigert|wurde abgelehnt)
		verbindung ...3 (verweigert|abgelehnt)
		connexion refusée
		conexión (rehusada|rechazada|denegada)
		conexão recusada
		connessione rifiutata
		в соединении отказано
		连接被拒绝
		拒绝连接
		接続が拒否
		接続拒否
		연결이 거부
		połączenie odrzucone
		(dienst|service|servicio|serviço|servizio|сервис|der server) ...5 (nicht verfügbar|indisponible|no disponible|indisponível|non disponibile|недоступен|überlastet|temporairement)
		(vorübergehend|temporairement|temporalmente|temporariamente|temporaneamente|временно) ...2 (nicht verfügbar|indisponible|no disponible|indisponível|non disponibile|недоступен|nicht erreichbar|überlastet)
		временно недоступ(ен|на|но)
		(nicht erreichbar|unerreichbar|injoignable|inaccessible|inalcanzable|inacessível|irraggiungibile)
		服务不可用
		服务暂时不可用
		服务(器)?(繁忙|忙)
		服务器繁忙
		系统繁忙
		サービス利用不可
		サービスは利用できません
		一時的に利用
		サーバーエラー
		服务器错误
		服务器内部错误
		内部错误
		(interner serverfehler|erreur interne du serveur|error interno del servidor|erro interno do servidor|errore interno del server)
		внутренняя ошибка
		(wartung|wartungsarbeiten|en maintenance|en mantenimiento|em manutenção|in manutenzione)
		(verklemmung|deadlock|blocage mutuel|interbloqueo|взаимная блокировка)
		name oder dienst nicht bekannt
		nom ou service inconnu
		nombre o servicio desconocido
		nome ou serviço desconhecido
		(temporärer|vorübergehender) fehler
		échec temporaire
		fallo temporal
		名称解析
		域名解析失败
		无法解析`},
	{id: "foreign.rate", class: RateLimitExceeded, weight: wStrong, phrases: `
		zu viele (anfragen|anforderungen|verbindungen|aufrufe|versuche)
		(trop|beaucoup trop) de (requêtes|connexions|requetes|tentatives)
		demasiadas (solicitudes|peticiones|conexiones|llamadas)
		demasiados intentos
		(muitas|demasiadas) (solicitações|requisições|conexões)
		troppe (richieste|connessioni)
		слишком много (запросов|подключений|попыток)
		请求(过于)?频繁
		请求过于频繁
		请求过多
		请求次数过多
		请求太多
		操作(过于|太)频繁
		访问(过于|太)频繁
		リクエストが多すぎ
		リクエスト数
		レート制限
		要求が多すぎ
		요청이 너무 많
		频率限制
		限流
		速率限制
		(anfragelimit|ratenlimit|ratenbegrenzung|limite de débit|límite de velocidad|limite de taxa)`},
	{id: "foreign.quota", class: QuotaExceeded, weight: wStrong + 4, phrases: `
		(kontingent|tageslimit|monatslimit|kontingentgrenze|tageskontingent) ...3 (überschritten|erreicht|aufgebraucht|erschöpft)
		quota (dépassé|atteint|épuisé|überschritten|excedida|superada|excedido|agotada)
		(cuota|cota|quota) ...3 (excedida|superada|agotada|alcanzada|superata|esgotada|dépassé|épuisé)
		(límite|limite) (diario|mensual|quotidienne|journalière|mensuelle|diário|mensal|giornaliero|mensile)
		квота ...3 (превышена|исчерпана)
		配额(已)?(用尽|不足|超)
		额度(已)?(用完|不足|用尽)
		超出配额
		クォータ
		(今日|每日|当日)(的)?(次数|额度|上限|限额)`},
	{id: "foreign.payment", class: PaymentRequired, weight: wStrong + 4, phrases: `
		(余额不足|欠费|账户余额|帐户余额)
		(guthaben|kontostand) ...3 (nicht ausreichend|reicht nicht|aufgebraucht|leer|unzureichend)
		(nicht genügend|unzureichendes|kein) guthaben
		(zahlung|bezahlung) ...2 (erforderlich|fehlgeschlagen|abgelehnt)
		(paiement|pago|pagamento) ...2 (requis|refusé|requerido|rechazado|necessário|recusado|richiesto|rifiutato|obligatoire)
		(solde|saldo|crédit|credito|crédito) ...2 (insuffisant|insuficiente|insufficiente|épuisé)
		(недостаточно средств|требуется оплата)
		残高不足
		支払い`},
	{id: "foreign.auth", class: AuthenticationFailure, weight: wStrong, phrases: `
		(anmeldung|authentifizierung|passwort authentifizierung|anmeldedaten|zugangsdaten|passwort|kennwort) ...5 (fehlgeschlagen|ungültig|erforderlich|falsch|abgelaufen)
		(ungültige|falsche|fehlende) (anmeldedaten|zugangsdaten|anmeldung|passwort|authentifizierung|anmeldeinformationen)
		(ungültiger|abgelaufener|fehlender) (schlüssel|api schlüssel|token|api key)
		nicht (autorisiert|angemeldet|authentifiziert)
		(authentification|identifiants|mot de passe|clé api|jeton) ...4 (échouée|échoué|requise|invalide|invalides|incorrect|expiré|incorrects|expirée)
		non (autorisé|authentifié|autorizzato)
		no (autorizado|autenticado)
		não (autorizado|autenticado)
		(autenticación|credenciales|contraseña|clave de api|autenticação|credenciais|senha|autenticazione|credenziali) ...3 (fallida|inválidas|inválida|incorrecta|incorrectas|requerida|falló|falhou|fallita|errata|non valide|expirado|vencida)
		(ошибка аутентификации|неверный пароль|неверный ключ|не авторизован|требуется авторизация)
		(认证失败|鉴权失败|身份验证失败|密码错误|未授权|未登录|无效的令牌|令牌无效|令牌已过期|认证已过期)
		(認証に失敗|認証エラー|認証が必要|パスワードが)
		인증 실패`},
	{id: "foreign.rights", class: PermissionError, weight: wStrong, phrases: `
		(keine|fehlende|unzureichende) (berechtigung|berechtigungen|rechte|zugriffsrechte)
		(zugriff|zugang) (wurde)? (verweigert|verboten|gesperrt)
		berechtigung ...2 (verweigert|fehlt)
		(accès|permission) (refusé|refusée|interdit)
		(permission|permiso|acceso) (denegado|non accordée|denegada)
		permissão negada
		acesso negado
		(permesso negato|accesso negato)
		(доступ запрещ(е|ё)н|отказано в доступе|недостаточно прав|нет доступа)
		отказано в доступе
		доступ запрещен
		(权限不足|没有权限|无权|拒绝访问|权限被拒|禁止访问)
		(アクセスが拒否|許可がありません|権限がありません|アクセス拒否)
		(권한이 없|접근이 거부)`},
	{id: "foreign.notfound", class: NotFound, weight: wSaid + 2, phrases: `
		(nicht gefunden|existiert nicht|nicht vorhanden)
		(datei oder verzeichnis nicht gefunden|keine solche datei)
		(introuvable|non trouvé|non trouvée|pas trouvé|nexiste pas|inexistant|aucun fichier ou dossier)
		(no encontrado|no encontrada|no existe|no se encontró|no se ha encontrado|no se pudo encontrar)
		(não encontrado|não encontrada|não existe)
		(non trovato|non trovata|non esiste)
		(не найден|не найдена|не найдено|не существует|нет такого файла)
		(不存在|未找到|找不到|没有那个文件|没有找到)
		(見つかりません|存在しません|見つからない)
		(찾을 수 없|존재하지 않)
		nie znaleziono
		bulunamadı`},
	{id: "foreign.resource", class: ResourceConstraint, weight: wCode + 2, phrases: `
		(nicht genügend|kein|zu wenig|nicht genug|unzureichender) (speicher|speicherplatz|arbeitsspeicher|platz|hauptspeicher)
		auf dem gerät ist kein
		(kein platz|platte voll|festplatte voll|datenträger voll)
		(speicher|speicherplatz) ...3 (erschöpft|voll|reicht nicht|nicht ausreichend)
		(mémoire|espace|espace disque) (insuffisante|insuffisant|épuisée|saturée)
		aucun espace disponible
		plus assez (de)? (mémoire|place|espace)
		pas assez (de)? (mémoire|espace|place)
		(memoria|espacio|espaço|memória|spazio) (insuficiente|insufficiente|agotada|agotado|esgotado|esgotada|esaurita|esaurito)
		(no queda|no hay|sin) (suficiente)? (espacio|memoria)
		(não há|sem) (espaço|memória)
		(нет места|недостаточно памяти|недостаточно места|нехватка памяти|не хватает памяти)
		(内存不足|磁盘空间不足|空间不足|显存不足|存储空间不足|设备上没有空间|没有空间|内存溢出)
		(メモリ不足|ディスク容量|メモリが不足|容量不足|空き領域)
		(메모리 부족|공간이 부족|공간 부족)
		zu viele offene dateien
		trop de fichiers ouverts
		demasiados (archivos|ficheros) abiertos
		打开的文件过多`},
	{id: "foreign.private", class: InvalidInput, weight: wStatus, phrases: `
		(vídeo|video|vidéo|contenido|conteúdo|contenu|inhalt) (es|é|est|ist|è) (privado|privada|privée|privé|privat|privato)
		(privates|privado|privée) video
		(dieses|das) video (ist|wurde) ...2 (privat|gelöscht|entfernt|nicht verfügbar)
		(视频|内容) ...2 (私有|私密|不可用|已删除|已被删除)
		非公開
		видео ...2 (недоступно|удалено|приватное|закрыто)
		частное видео
		(ungültig|ungültige|ungültiger|ungültiges)
		(inválido|inválida|non valido|non valida|no válido|no válida|недопустимый|неверный|некорректный|неверное|некорректное)
		(无效|不合法|格式错误|格式不正确|不支持|非法|参数错误|损坏)
		(無効な|不正な|サポートされていません|破損)
		(nicht unterstützt|non pris en charge|no compatible|no soportado|não suportado|non supportato|не поддерживается)
		(beschädigt|corrompu|corrompue|dañado|corrompido|danneggiato|повреждён|поврежден)
		(유효하지 않|잘못된)`},
	{id: "foreign.validation", class: ValidationError, weight: wStatus - 4, phrases: `
		(pflichtfeld|erforderliches feld|muss ausgefüllt|darf nicht leer|ist erforderlich|muss (größer|kleiner|positiv|zwischen|mindestens|ein))
		(champ obligatoire|champ requis|ne peut pas être vide|doit être|est obligatoire|est requis)
		(campo obligatorio|es obligatorio|no puede estar vacío|debe ser|debe tener|campo requerido|campo obrigatório|deve ser|é obrigatório|não pode ser|non può essere|deve essere|è obbligatorio)
		(обязательное поле|не может быть пустым|должен быть|должно быть)
		(不能为空|必填|必须|缺少参数|参数缺失)
		(必須|入力してください|空にできません)
		(syntaxfehler|erreur de syntaxe|error de sintaxis|erro de sintaxe|errore di sintassi|синтаксическая ошибка|语法错误|構文エラー)`},
	{id: "foreign.limit", class: InputExceedsLimits, weight: wStrong, phrases: `
		(zu groß|zu lang|größer als|überschreitet die|überschreitet das)
		(trop (grand|grande|volumineux|volumineuse|long|longue|gros)|dépasse la (taille|limite|longueur))
		(demasiado (grande|largo|larga)|excede el (tamaño|límite|máximo)|supera el (tamaño|límite|máximo))
		(muito grande|excede o (tamanho|limite|máximo)|troppo (grande|lungo)|supera il limite)
		(слишком (большой|длинный|велик|большая)|превышает (допустимый|максимальный|размер))
		(过大|太大|过长|太长|超过(最大|上限)|超出(最大|长度|大小))
		(大きすぎ|長すぎ|上限を超え)
		(너무 큽|너무 깁)`},
	{id: "foreign.content", class: ContentViolation, weight: wStrong + 4, phrases: `
		(verstößt|verstoß) gegen ...3 (richtlinien|nutzungsbedingungen|urheberrecht|gemeinschaftsrichtlinien|richtlinie)
		(enfreint|viole) ...4 (conditions|règles|droits)
		(infringe|viola|incumple) ...4 (condiciones|normas|políticas|términos|termos|política|directrices)
		нарушает (правила|условия|авторские)
		(内容违规|违规内容|敏感内容|敏感词|违反(了)?(规定|政策|条款)|内容安全|审核不通过|审核未通过|涉嫌违规)
		(利用規約|ガイドライン違反|著作権)
		(contenu|image|texte|vidéo|message) (haineux|haineuse|inapproprié|inappropriée|violent|violente|sexuel|choquant|interdit|offensant|illicite)
		(règles|normes|standards|directives) de la communauté
		(contenido|conteúdo|contenuto) (inapropiado|ofensivo|violento|sexual|prohibido|inapropriado|inappropriato|impróprio|de odio|de ódio|vietato)
		(normas|reglas|directrices|diretrizes|regole) (de la|da|della) (comunidad|comunidade|community)
		(anstößige|jugendgefährdende|hasserfüllte|unangemessene|gewaltverherrlichende|verbotene|sexuelle|urheberrechtlich geschützte) (inhalt|inhalte|inhalten|bilder)
		(hassrede|gemeinschaftsregeln|urheberrechtsverletzung|gemeinschaftsstandards|jugendschutz)
		(недопустим|запрещ(е|ё)нный|неприемлемый) контент
		(авторских прав|правила сообщества)
		(색정|음란|부적절한|커뮤니티 가이드라인)
		(不適切なコンテンツ|不適切な内容|コンテンツポリシー)`},
}
